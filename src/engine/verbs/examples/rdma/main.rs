//! Tries RDMA out, against itself and against rdma-core's `rping`; each check prints `ok` or `FAIL`.
//!
//! ```text
//! rdma inventory                        adapters, ports, GIDs
//! rdma loopback ADDRESS...              all that connections do, both ends in this process
//! rdma removal ADDRESS                  says `ready`, then waits for the adapter to go and to come back
//! rdma lost ADDRESS                     says `ready`, reads a line, and then finds its peer lost
//! rdma get URL > FILE                   all of a datastore
//! rdma put URL < FILE                   into a datastore, from its beginning on
//! rdma rping-client ADDRESS:PORT COUNT  the client of `rping -s`
//! rdma rping-server ADDRESS:PORT        the server of one `rping -c`
//! ```

#![allow(clippy::print_stdout)]

mod checks;
mod copy;
mod end;
mod lost;
mod removal;
mod rping;

use std::process::ExitCode;

use plimsoll_verbs::Verbs;

type Trouble = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            println!("FAIL {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<bool, Trouble> {
    match *arguments {
        ["inventory"] => {
            for adapter in plimsoll_verbs::inventory()? {
                println!("{adapter:#?}");
            }
            Verbs::load()?;
            Ok(true)
        }
        ["loopback", ref addresses @ ..] if !addresses.is_empty() => {
            let fabric = Verbs::load()?;
            let mut well = true;
            for address in addresses {
                well &= checks::run(&*fabric, address.parse()?);
            }
            Ok(well)
        }
        ["removal", address] => {
            removal::pitfall_13_listeners_survive_their_adapter(&*Verbs::load()?, address.parse()?)
        }
        ["lost", address] => {
            lost::pitfall_15_a_lost_peer_is_noticed_in_seconds(&*Verbs::load()?, address.parse()?)
        }
        ["get", url] => copy::get(url),
        ["put", url] => copy::put(url),
        ["rping-client", address, count] => {
            rping::client(&*Verbs::load()?, address.parse()?, count.parse()?)
        }
        ["rping-server", address] => rping::server(&*Verbs::load()?, address.parse()?),
        _ => Err("arguments: see the head of this program".into()),
    }
}
