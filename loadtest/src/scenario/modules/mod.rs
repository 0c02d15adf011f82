//! `modules`: the cost of event-processing modules for a server that receives measurements. The same load is
//! sent in turns with and without a module, so that other load affects both alike.

mod deployed;
mod retained;
mod turns;

use std::sync::Arc;
use std::time::Instant;

use super::Bench;
use crate::cli::{Cost, Modules};
use crate::devices;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::protocol::body::Kind;
use crate::report::{Fact, Report};
use crate::traffic::poster::Poster;
use deployed::Deployed;
use turns::{Labels, Turns};

/// Most of these statements match few measurements, as filters of alarms do; `common` shows that they are
/// evaluated at all.
const FILTERS: &str = r#"
@Name('common') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Air.T.value") > 30;
@Name('hot') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Air.T.value") > 34.9;
@Name('cold') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Air.T.value") < 15.1;
@Name('moist') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Air.H.value") > 79.5;
@Name('high') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Power.U.value") > 234.7;
@Name('strong') select e.measurement.id as id from MeasurementCreated e where getNumber(e, "lt_Power.I.value") > 15.9;
@Name('both') select e.measurement.id as id from MeasurementCreated e
    where getNumber(e, "lt_Air.T.value") > 34 and getNumber(e, "lt_Air.H.value") > 75;
@Name('other') select e.measurement.id as id from MeasurementCreated e where e.measurement.type = "another";
@Name('none') select e.measurement.id as id from MeasurementCreated e where getObject(e, "lt_Missing") is not null;
@Name('nobody') select e.measurement.id as id from MeasurementCreated e where e.measurement.source.value = "nobody";
"#;

const OF_FILTERS: Labels = Labels {
    without: "without filters",
    with: "with ten filters",
    core: "filters, of a core",
    event: "filters, CPU each event",
};
const OF_WINDOWS: Labels = Labels {
    without: "without windows",
    with: "with windows",
    core: "windows, of a core",
    event: "windows, CPU each event",
};

/// The settings that all parts post with.
struct Sending<'a> {
    bench: &'a Bench,
    settings: &'a Modules,
    run: Arc<Run>,
    ids: Arc<Vec<String>>,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Modules) -> Result<Report, Error> {
    if bench.server.is_none() {
        return Err(Error::Refused("the server's process is not known: name it by --server-pid".to_owned()));
    }
    let ids = devices::create(&bench.target, settings.devices as usize).await?;
    let sending = Sending { bench, settings, run: Arc::new(Run::new(ids.len())), ids: Arc::new(ids) };
    let (begun, window) = (Instant::now(), bench.open_window());
    let measured = sending.measure().await;
    let (_, cpu) = bench.close_window(&window);
    let devices_left = bench.remove_devices(Arc::unwrap_or_clone(sending.ids)).await;
    let facts = measured?;
    Ok(Report {
        seconds: begun.elapsed().as_secs_f64(),
        clean: facts.iter().all(|fact| fact.holds),
        facts,
        cpu: Some(cpu),
        devices_left,
        ..bench.report("modules", settings)
    })
}

impl Sending<'_> {
    async fn measure(&self) -> Result<Vec<Fact>, Error> {
        let mut facts = Vec::new();
        for cost in &self.settings.costs {
            facts.extend(match cost {
                Cost::Filters => self.filters().await?,
                Cost::Windows => self.windows().await?,
                Cost::Retained => retained::measure(self).await?,
            });
        }
        Ok(facts)
    }

    async fn filters(&self) -> Result<Vec<Fact>, Error> {
        let (turns, mut facts) = self.turns("loadtest_filters", FILTERS, OF_FILTERS).await?;
        facts.extend(turns.costs(self.settings.rate, self.settings.most_core, None));
        Ok(facts)
    }

    async fn windows(&self) -> Result<Vec<Fact>, Error> {
        let text = format!(
            r#"
create context OfDevice partition by measurement.source.value from MeasurementCreated;
@Name('average') context OfDevice
    select context.key1 as device, avg(getNumber(e, "lt_Air.T.value")) as average
    from MeasurementCreated.win:length({}) as e;
"#,
            self.settings.window
        );
        let (turns, mut facts) = self.turns("loadtest_windows", &text, OF_WINDOWS).await?;
        facts.extend(turns.costs(self.settings.rate, None, self.settings.most_micros));
        Ok(facts)
    }

    /// Takes turns with the module deployed and undeployed.
    async fn turns(
        &self,
        name: &'static str,
        statements: &str,
        labels: Labels,
    ) -> Result<(Turns, Vec<Fact>), Error> {
        let module = Deployed::create(&self.bench.target, name, statements).await?;
        let mut turns = Turns::new(self, labels);
        let taken = turns.take_all(self, &module).await;
        let facts = module.end(self, taken).await?;
        Ok((turns, facts))
    }

    fn poster(&self, kind: Kind) -> Poster {
        let headers: Arc<str> = self.bench.target.quiet_post_headers().into();
        Poster::new(&self.bench.target, &self.run, 0).with(kind, &headers)
    }
}
