//! Bodies that an answer did not wait for. A connection is used again only if the whole request was taken
//! from it: else what is left of a body would be read as the next request, or the answer would be lost.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body::{Frame, SizeHint};

/// Bytes of a body that needs no care.
const SHORT: u64 = 4096;
/// Most bytes that are read and dropped.
const MOST_BYTES: usize = 16 << 20;
/// Longest time that they may take.
const LONGEST: Duration = Duration::from_secs(2);

/// Body of a request while its handler reads it; the unread rest comes back.
pub struct UnreadBody {
    back: Arc<Mutex<LentBody>>,
    /// True if the caller waits for us to ask for the body.
    waits: bool,
}

/// A lent body, or what was left of it.
#[derive(Default)]
struct LentBody {
    body: Option<Body>,
    /// Bytes that were read.
    read: usize,
    /// True once somebody asked for the body.
    asked: bool,
}

struct Lent {
    body: Option<Body>,
    back: Arc<Mutex<LentBody>>,
}

impl UnreadBody {
    /// Lends a request's body to its handler; `None` if it has none, or a short one.
    pub fn lend(request: &mut Request) -> Option<Self> {
        // A body announced as short is in the connection's buffer, which drops it.
        let is_short = (request.body().size_hint().exact()).is_some_and(|n| n <= SHORT);
        let waits = request.headers().contains_key(header::EXPECT);
        if request.body().is_end_stream() || (is_short && !waits) {
            return None;
        }
        let back = Arc::new(Mutex::new(LentBody::default()));
        let lent = Lent {
            body: Some(std::mem::take(request.body_mut())),
            back: back.clone(),
        };
        *request.body_mut() = Body::new(lent);
        Some(Self { back, waits })
    }

    /// Bytes that were read by now.
    pub fn read(&self) -> usize {
        self.back.lock().map_or(0, |state| state.read)
    }

    /// Reads and drops the rest, within limits. Returns true if the connection can be used again.
    pub async fn clear(self) -> bool {
        let Ok((body, asked)) =
            (self.back.lock()).map(|mut state| (state.body.take(), state.asked))
        else {
            return false;
        };
        let Some(body) = body else {
            return true;
        };
        if body.is_end_stream() {
            return true;
        }
        // To read is to ask for it, and the answer is there already.
        if self.waits && !asked {
            return false;
        }
        (tokio::time::timeout(LONGEST, drop_all(body)).await).unwrap_or(false)
    }
}

/// Reads and drops a body; returns true if it ended.
async fn drop_all(mut body: Body) -> bool {
    let mut length = 0;
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        match frame {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => length += frame.data_ref().map_or(0, Bytes::len),
        }
        if length > MOST_BYTES {
            return false;
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Ok(mut back) = self.back.lock() {
            back.body = self.body.take();
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(context);
        if let Ok(mut back) = self.back.lock() {
            back.asked = true;
            if let Poll::Ready(Some(Ok(frame))) = &polled {
                back.read += frame.data_ref().map_or(0, Bytes::len);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}
