//! The statements. Every one of them goes by an index: which, is in the layout.

macro_rules! columns {
    ("e.") => {
        "e.number, e.time, e.experiment, e.kind, e.decision, e.id, e.body"
    };
    () => {
        "number, time, experiment, kind, decision, id, body"
    };
}

/// The server's clock in microseconds, whenever the transaction began.
macro_rules! now {
    () => {
        "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
    };
}

// The isolation level is said, whatever the server's default: after waiting for the row, statements
// must see what its last holder committed.
pub(super) const BEGIN: &str = concat!(
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT last FROM counter WHERE one = 1 FOR UPDATE; \
     SELECT ",
    now!()
);
pub(super) const POLL: &str = concat!("SELECT last, ", now!(), " FROM counter WHERE one = 1");
pub(super) const INSERT: &str = concat!(
    "WITH news AS (INSERT INTO events (",
    columns!(),
    ") SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::smallint[], \
     $5::bigint[], $6::text[], $7::bytea[])) \
     UPDATE counter SET last = $8 WHERE one = 1 RETURNING pg_notify($9, '')"
);
/// Numbers have no gaps. Sizes are read without the bodies, so the server sends no more than a page.
pub(super) const READ: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body) AS before \
     FROM events WHERE number > $1 AND number <= $2) AS page WHERE before < $3 ORDER BY number"
);
pub(super) const CREATED: &str =
    "SELECT number FROM events WHERE kind = 1 AND experiment = number ORDER BY experiment";
pub(super) const CHANGES: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM events WHERE experiment = $1 AND kind = 1 AND number > $2 AND number < $3 ORDER BY number DESC LIMIT $4"
);
/// The last event and the counter, at one moment.
pub(super) const COUNTED: &str = "SELECT coalesce((SELECT max(number) FROM events), 0), last \
     FROM counter WHERE one = 1";
pub(super) const GET: &str = concat!("SELECT ", columns!(), " FROM events WHERE number = $1");
/// Decisions by number and by id, each with its reports, all with their places among the keys. Only
/// decisions have ids; to say so again would offer the server the index of all of an experiment's
/// decisions, which it takes for the better one as long as the table is new. Those beyond a page come
/// without their bodies.
pub(super) const FIND: &str = concat!(
    "WITH k AS MATERIALIZED (\
     SELECT k.place, ",
    columns!("e."),
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS k (place, experiment, number) \
     JOIN events AS e ON e.number = k.number AND e.experiment = k.experiment AND e.kind = 3 \
     UNION ALL SELECT k.place, ",
    columns!("e."),
    " FROM unnest($4::bigint[], $5::bigint[], $6::text[]) AS k (place, experiment, id) \
     JOIN events AS e ON e.experiment = k.experiment AND e.id = k.id), \
     d AS MATERIALIZED (SELECT *, sum(octet_length(body)) OVER (ORDER BY place) - octet_length(body) < $7 \
     AS fits FROM k) \
     SELECT number, time, experiment, kind, decision, id, CASE WHEN fits THEN body END, place FROM d \
     UNION ALL SELECT ",
    columns!("e."),
    ", d.place FROM d JOIN events AS e ON e.decision = d.number AND e.kind = 4 AND d.fits \
     UNION ALL SELECT ",
    columns!("e."),
    ", d.place FROM d JOIN events AS e ON e.decision = d.number AND e.kind = 5 AND d.fits"
);
/// A page of decisions of an experiment between two numbers, with their reports; their place is their
/// own number.
macro_rules! decisions {
    ($order:literal) => {
        concat!(
            "WITH k AS MATERIALIZED (SELECT ",
            columns!(),
            " FROM events WHERE experiment = $1 AND kind = 3 AND number > $2 AND number < $3 ORDER BY ",
            $order,
            " LIMIT $4), d AS MATERIALIZED (SELECT * FROM (\
             SELECT *, sum(octet_length(body)) OVER (ORDER BY ",
            $order,
            ") - octet_length(body) AS before FROM k) AS page WHERE before < $5) SELECT ",
            columns!(),
            ", number FROM d UNION ALL SELECT ",
            columns!("e."),
            ", d.number FROM d JOIN events AS e ON e.decision = d.number AND e.kind = 4 \
             UNION ALL SELECT ",
            columns!("e."),
            ", d.number FROM d JOIN events AS e ON e.decision = d.number AND e.kind = 5"
        )
    };
}
pub(super) const DECISIONS: &str = decisions!("number DESC");
pub(super) const DECISIONS_AFTER: &str = decisions!("number");
pub(super) const OVERDUE: &str = "SELECT number FROM events AS d \
     WHERE experiment = $1 AND kind = 3 AND number > $2 AND number < $3 AND NOT EXISTS \
     (SELECT 1 FROM events AS o WHERE o.decision = d.number AND o.kind = 5) \
     ORDER BY number LIMIT $4";
pub(super) const KEEP_SNAPSHOT: &str = "INSERT INTO snapshots (experiment, number, body) VALUES ($1, $2, $3) \
     ON CONFLICT (experiment) DO UPDATE SET number = excluded.number, body = excluded.body \
     WHERE excluded.number >= snapshots.number \
     OR snapshots.number > (SELECT last FROM counter WHERE one = 1)";
