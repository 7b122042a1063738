//! SCSI commands of the raw target: data is placed and fetched, rightly or as the script says.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_fabric::rdma::{Access, Memory, RemoteAddress, Work};
use plimsoll_wire::iscsi::Bhs;
use plimsoll_wire::iscsi::pdu::{R2t, Residual, ScsiCommand, ScsiResponse, sense_segment};
use plimsoll_wire::iser::{Header, MESSAGE_MIN, Tag};
use plimsoll_wire::scsi::{Additional, Sense};

use super::super::super::fake::{BLOCK, inquire};
use super::Act;
use super::connection::{Connection, Done, Fetch, Over};

impl Connection {
    pub fn command(&mut self, command: &ScsiCommand, header: &Header, immediate: &[u8]) -> Done {
        let cdb = &command.cdb;
        if !matches!(cdb[0], 0x88 | 0x8a | 0x91) {
            let naa = self.shared.naa.lock().unwrap().clone();
            let size = self.shared.store.len();
            let data = inquire(cdb, &naa, 1, 0, size, 0);
            return self.answer_inquiry(command, header, data.as_deref());
        }
        let number = self.shared.commands.fetch_add(1, Ordering::SeqCst);
        let script = Arc::clone(&self.shared.script.lock().unwrap());
        let act = script(command, number);
        self.shared.longest.fetch_max(command.expected_len.into(), Ordering::SeqCst);
        match act {
            Act::Disconnect => return Err(Over),
            Act::Stall => {
                self.stalled = true;
                return Ok(());
            }
            Act::Forget => {
                if let Some(tag) = header.read {
                    self.forgotten.insert(command.itt, (tag, command.expected_len));
                }
                return Ok(());
            }
            Act::Later => {
                self.later.push((*command, *header));
                return Ok(());
            }
            Act::Ping => self.ping(0x77)?,
            _ => {}
        }
        self.answer(command, header, immediate, act)
    }

    /// Moves the data and responds.
    pub fn answer(
        &mut self,
        command: &ScsiCommand,
        header: &Header,
        immediate: &[u8],
        act: Act,
    ) -> Done {
        let cdb = &command.cdb;
        let lba = u64::from_be_bytes(cdb[2..10].try_into().unwrap()) as usize;
        let len = u32::from_be_bytes(cdb[10..14].try_into().unwrap()) as usize * BLOCK;
        if let Act::Check(key, code, qualifier) = act {
            let mut bytes = Vec::new();
            Sense::new(key, Additional { code, qualifier }).write(false, &mut bytes);
            let segment = sense_segment(&bytes);
            return self.respond(command, 0x02, &segment, act, header);
        }
        match cdb[0] {
            0x88 => {
                assert_eq!((command.expected_len as usize, header.write), (len, None));
                let tag = header.read.expect("a read advertises where its data goes");
                self.place(command, tag, lba * BLOCK, len, act)?;
                self.respond(command, 0, &[], act, header)
            }
            0x8a => {
                assert_eq!((command.expected_len as usize, header.read), (len, None));
                if immediate.len() == len {
                    assert!(self.shared.setting.immediate_data, "not agreed");
                    self.shared.immediate.fetch_add(1, Ordering::SeqCst);
                    // SAFETY: writes of a test never overlap anything under way.
                    #[allow(unsafe_code)]
                    unsafe {
                        self.shared.store.put(lba * BLOCK, immediate);
                    }
                    return self.respond(command, 0, &[], act, header);
                }
                assert!(immediate.is_empty(), "all or nothing goes with the command");
                let tag = header.write.expect("a write advertises where its data is");
                if act == Act::WrongRight {
                    let segments = [self.store.segment(0, BLOCK)];
                    let remote = RemoteAddress { address: tag.address, key: tag.key };
                    let work = Work::Write { id: 0, segments: &segments, remote, signal: true };
                    return self.endpoint.post(&work).map_err(|_| Over);
                }
                let segment = self.store.segment(lba * BLOCK, len);
                self.waiting.push_back(Fetch { command: *command, tag, segment, act });
                self.fetch_next()
            }
            _ => self.respond(command, 0, &[], act, header),
        }
    }

    fn place(
        &mut self,
        command: &ScsiCommand,
        tag: Tag,
        from: usize,
        len: usize,
        act: Act,
    ) -> Done {
        let mut remote = RemoteAddress { address: tag.address, key: tag.key };
        let mut segments = [self.store.segment(from, len)];
        match act {
            Act::Short => segments[0].len /= 2,
            // 4 MiB is more than any block of slots has left.
            Act::PlaceBeyond => segments[0] = self.store.segment(0, (4 << 20) + BLOCK),
            Act::StaleKey => remote.key ^= 0x5555,
            Act::WrongRight => {
                let id = u64::from(command.itt);
                let work = Work::Read { id, segments: &segments, remote };
                return self.endpoint.post(&work).map_err(|_| Over);
            }
            _ => {}
        }
        let work = Work::Write { id: 0, segments: &segments, remote, signal: false };
        self.endpoint.post(&work).map_err(|_| Over)
    }

    /// Fetches as much at a time as the initiator answers.
    pub fn fetch_next(&mut self) -> Done {
        while self.fetching.len() < self.reads_max
            && let Some(fetch) = self.waiting.pop_front()
        {
            let mut remote = RemoteAddress { address: fetch.tag.address, key: fetch.tag.key };
            if fetch.act == Act::StaleKey {
                remote.key ^= 0x5555;
            }
            let id = u64::from(fetch.command.itt);
            let work = Work::Read { id, segments: &[fetch.segment], remote };
            self.endpoint.post(&work).map_err(|_| Over)?;
            self.fetching.insert(id, fetch);
        }
        Ok(())
    }

    fn answer_inquiry(
        &mut self,
        command: &ScsiCommand,
        header: &Header,
        data: Option<&[u8]>,
    ) -> Done {
        let Some(data) = data else {
            let mut bytes = Vec::new();
            Sense::illegal(Additional::INVALID_FIELD_IN_CDB).write(false, &mut bytes);
            let segment = sense_segment(&bytes);
            return self.respond(command, 0x02, &segment, Act::Serve, header);
        };
        let len = data.len().min(command.expected_len as usize);
        if len > 0 {
            let memory = Memory::allocate(len).unwrap();
            // SAFETY: nobody else has the block yet.
            #[allow(unsafe_code)]
            unsafe {
                memory.put(0, &data[..len]);
            }
            let region = self.domain.register(&memory, Access::LOCAL).unwrap();
            let tag = header.read.expect("an inquiry advertises where its data goes");
            let remote = RemoteAddress { address: tag.address, key: tag.key };
            let segments = [region.segment(0, len)];
            let work = Work::Write { id: 0, segments: &segments, remote, signal: true };
            self.endpoint.post(&work).map_err(|_| Over)?;
            self.endpoint.flush().map_err(|_| Over)?;
            // Few and small: they may stay.
            std::mem::forget(region);
        }
        let missing = command.expected_len - len as u32;
        let residual = if missing > 0 { Residual::Underflow(missing) } else { Residual::None };
        let reply = self.response(command, 0, 0, residual);
        self.send(&reply, &[])
    }

    fn response(
        &mut self,
        command: &ScsiCommand,
        status: u8,
        data_len: usize,
        residual: Residual,
    ) -> Bhs {
        ScsiResponse {
            response: 0,
            status,
            data_len: data_len as u32,
            itt: command.itt,
            sequence: self.sequence(),
            exp_data_sn: 0,
            residual,
            read_residual: Residual::None,
        }
        .build()
    }

    pub fn respond(
        &mut self,
        command: &ScsiCommand,
        status: u8,
        segment: &[u8],
        act: Act,
        header: &Header,
    ) -> Done {
        let mut command = *command;
        let mut residual = Residual::None;
        let mut invalidate = None;
        match act {
            Act::WrongTag => command.itt ^= 0x0010_0000,
            Act::Short => residual = Residual::Underflow(command.expected_len / 2),
            Act::WildResidual => residual = Residual::Underflow(command.expected_len + 1),
            Act::InvalidateOwn => {
                invalidate = header.read.or(header.write).map(|tag| tag.key);
            }
            Act::InvalidateBogus => invalidate = Some(0x0bad_0bad),
            Act::R2t => {
                let reply = R2t {
                    lun: command.lun,
                    itt: command.itt,
                    ttt: 1,
                    sequence: self.sequence_now(),
                    r2t_sn: 0,
                    buffer_offset: 0,
                    desired_len: command.expected_len,
                };
                return self.send(&reply.build(), &[]);
            }
            Act::Hello => return self.send_bytes(&[0x20; 28], None),
            Act::Stump => return self.send_bytes(&[0x10; MESSAGE_MIN - 1], None),
            _ => {}
        }
        let data_len = match act {
            Act::ShortMessage => 100,
            Act::LongMessage => 4000,
            _ => segment.len(),
        };
        if act == Act::OldStatSn {
            self.stat_sn = self.stat_sn.wrapping_sub(1);
        }
        let mut message = Header::default().build().to_vec();
        message.extend_from_slice(&self.response(&command, status, data_len, residual));
        message.extend_from_slice(segment);
        if act == Act::LongMessage {
            message.resize(MESSAGE_MIN + 4000, 0);
        }
        if act == Act::Overtaken && self.overtaken.is_none() {
            self.overtaken = Some(message);
            return Ok(());
        }
        self.send_bytes(&message, invalidate)?;
        if let Some(message) = self.overtaken.take() {
            self.send_bytes(&message, None)?;
        }
        if act == Act::Twice {
            let again = self.response(&command, status, 0, residual);
            self.send(&again, &[])?;
        }
        Ok(())
    }
}
