//! Features from CSV and Parquet files.

use crate::bench::{refused, rows};
use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use banister::Error;
use banister_sim::{Experiment, ExperimentConfig};
use common::{any_stream, changing, sets};
use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// A folder with a CSV and a Parquet file of the same features, removed afterwards.
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Files {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("banister-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let csv =
            "visit,age,note,score\n1,2.0,a,0.5\n1,1.0,b,-1\n2,0.0,c,3\n2,4,d,0\n2,-1,e,1e-1\n";
        std::fs::write(folder.join("f.csv"), csv).expect("written");
        let column = |name: &str, physical| {
            let built =
                Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            Arc::new(built.build().expect("a type"))
        };
        let fields = vec![
            column("visit", Physical::INT64),
            column("age", Physical::DOUBLE),
            column("score", Physical::DOUBLE),
        ];
        let schema = Type::group_type_builder("features")
            .with_fields(fields)
            .build()
            .expect("a schema");
        let file = std::fs::File::create(folder.join("f.parquet")).expect("a file");
        let properties = WriterProperties::builder()
            .set_compression(parquet::basic::Compression::SNAPPY)
            .build();
        let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .expect("a writer");
        let mut group = writer.next_row_group().expect("a group");
        let mut visits = group
            .next_column()
            .expect("a column")
            .expect("three columns");
        visits
            .typed::<Int64Type>()
            .write_batch(&[1, 1, 2, 2, 2], None, None)
            .expect("written");
        visits.close().expect("closed");
        for values in [[2.0, 1.0, 0.0, 4.0, -1.0], [0.5, -1.0, 3.0, 0.0, 0.1]] {
            let mut numbers = group
                .next_column()
                .expect("a column")
                .expect("three columns");
            numbers
                .typed::<DoubleType>()
                .write_batch(&values, None, None)
                .expect("written");
            numbers.close().expect("closed");
        }
        group.close().expect("closed");
        writer.close().expect("closed");
        Self(folder)
    }

    fn check(&self, keys: &str, folder: &Path) -> Result<Experiment, Error> {
        let text = format!(
            r#"
            run = {{ horizon = 50, runs = 1 }}
            environment = {{ kind = "logged", {keys} }}
            guardrail = [{{ name = "cost", at_most = 0.6, safe_cost = 0.4 }}]
            agent = [{{ kind = "oplb", norm = 1.0 }}]
            "#
        );
        let config: ExperimentConfig = toml::from_str(&text).expect("valid TOML");
        config.check_in("logged", folder)
    }
}

#[test]
fn logged_features_come_in_the_order_of_the_file() {
    let files = Files::new("order");
    let keys = |file: &str| format!(r#"path = "{file}", round = "visit""#);
    let from_csv = files.check(&keys("f.csv"), &files.0).expect("valid");
    let from_parquet = files.check(&keys("f.parquet"), &files.0).expect("valid");
    let rows = sets(changing(&from_csv), 2);
    assert_eq!(rows, sets(changing(&from_parquet), 2));
    // x = (1, f/4)/√2: the longest row is (4, 0).
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let expected = [[2.0, 0.5], [1.0, -1.0], [0.0, 3.0], [4.0, 0.0], [-1.0, 0.1]];
    assert_eq!(rows.len(), expected.len());
    for (x, f) in rows.iter().zip(expected) {
        assert_eq!(x[0], half);
        assert!(
            (x[1] - half * f[0] / 4.0).abs() < 1e-12 && (x[2] - half * f[1] / 4.0).abs() < 1e-12
        );
    }
    // Round and round.
    let mut set = Vec::new();
    changing(&from_csv).draw(3, &mut any_stream(), &mut set);
    assert_eq!(set, rows[2..].concat());
    // One column, five rows at a time.
    let five = files
        .check(r#"path = "f.csv", columns = ["score"], k = 5"#, &files.0)
        .expect("valid");
    assert_eq!(sets(changing(&five), 1).len(), 5);
    assert_eq!(changing(&five).dimension(), 2);
    // The resolved experiment finds its file from anywhere.
    let again = five.resolved.check("again").expect("valid");
    assert_eq!(again.resolved, five.resolved);
}

#[test]
fn bad_files_are_refused_with_row_and_column() {
    let files = Files::new("bad");
    let write = |name: &str, text: &str| std::fs::write(files.0.join(name), text).expect("written");
    write("cell.csv", "a,b\n1,2\n3,x\n");
    write("nan.csv", "a,b\n1,2\nNaN,4\n");
    write("ragged.csv", "a,b\n1,2\n3\n");
    write("empty.csv", "a,b\n");
    write("zero.csv", "a,b\n0,0\n");
    write("text.csv", "a,b\nx,y\n");
    write("twice.csv", "a,a\n1,2\n");
    write("apart.csv", "r,a\n1,2\n2,2\n1,3\n");
    write("not.parquet", "a,b\n1,2\n");
    write("features.txt", "a,b\n1,2\n");
    let table = "
        path = 'cell.csv', k = 1                        | cell.csv, row 2, column `b`: `x`
        path = 'nan.csv', k = 1                         | nan.csv, row 2, column `a`: `NaN`
        path = 'ragged.csv', k = 1                      | ragged.csv
        path = 'empty.csv', k = 1                       | has no rows
        path = 'zero.csv', k = 1                        | must differ from 0
        path = 'text.csv', k = 1                        | without a numeric column
        path = 'twice.csv', k = 1                       | a name of its own
        path = 'apart.csv', round = 'r'                 | row 3: round `1`
        path = 'not.parquet', k = 1                     | not.parquet
        path = 'features.txt', k = 1                    | must end in .csv or .parquet
        path = 'none.csv', k = 1                        | cannot be read
        path = 'f.csv'                                  | `environment.k` is absent
        path = 'f.csv', k = 2                           | divide the number of rows
        path = 'f.csv', k = 1, round = 'visit'          | leave it out
        path = 'f.csv', round = 'when'                  | there is no such column
        path = 'f.csv', k = 1, columns = ['height']     | there is no such column
        path = 'f.csv', k = 1, columns = []             | name at least one
        path = 'f.csv', k = 1, columns = ['age', 'age'] | twice
        path = 'f.csv', k = 1, columns = ['note']       | row 1, column `note`: `a`
        k = 1                                           | `environment.path` is absent
    ";
    for (cells, words) in rows(table) {
        refused(files.check(cells[0], &files.0), &words, cells[0]);
    }
}
