//! Attributes of queue pairs, between the words of libibverbs and those of the driver.

use rdma_sys::{ibv_ah_attr, ibv_qp_attr, ibv_qp_attr_mask as mask, ibv_qp_state};
use stroma_abi::{Psn, Qpn};
use stroma_verbs::{Address, Attributes, QueuePairState};

use crate::{
    address,
    context::PORT,
    failure::{Outcome, invalid, unsupported},
    handle::zeroed,
    lock,
    pair::Pair,
    query::PARTITION,
    region::rights,
};

/// What a program has asked for and the card does not keep.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    access: u32,
}

fn state(code: ibv_qp_state::Type) -> Outcome<QueuePairState> {
    let code = u8::try_from(code).ok().and_then(QueuePairState::from_code);
    code.ok_or(invalid("no state of queue pairs"))
}

/// Changes state and attributes of a queue pair.
pub(crate) fn modify(pair: &Pair, attr: &ibv_qp_attr, given: u32) -> Outcome<()> {
    let has = |flag: mask| given & flag.0 != 0;
    if has(mask::IBV_QP_ALT_PATH | mask::IBV_QP_PATH_MIG_STATE)
        || has(mask::IBV_QP_CAP)
        || has(mask::IBV_QP_RATE_LIMIT)
    {
        return Err(unsupported("other paths, sizes and rates of queue pairs"));
    }
    if has(mask::IBV_QP_CUR_STATE) && state(attr.cur_qp_state)? != pair.inner.state() {
        return Err(invalid("the queue pair is in another state"));
    }
    if has(mask::IBV_QP_PORT) && attr.port_num != PORT {
        return Err(invalid("a card has port 1 alone"));
    }
    let mut wanted = Attributes::default();
    if has(mask::IBV_QP_STATE) {
        wanted = wanted.state(state(attr.qp_state)?);
        if has(mask::IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr.en_sqd_async_notify != 0 {
            wanted = wanted.notify_drained();
        }
    }
    let access = attr.qp_access_flags;
    if has(mask::IBV_QP_ACCESS_FLAGS) {
        // Programs name rights of their own, too, which say nothing about peers.
        wanted = wanted.rights(rights(access)?);
    }
    if has(mask::IBV_QP_PKEY_INDEX) {
        if attr.pkey_index != 0 {
            return Err(invalid("a port has one partition, at place 0"));
        }
        wanted = wanted.p_key(PARTITION);
    }
    if has(mask::IBV_QP_AV) {
        wanted = wanted.address(&address::way(pair.context(), &attr.ah_attr)?);
    }
    if has(mask::IBV_QP_PATH_MTU) {
        let most = pair.context().device().port().path_mtu();
        let mtu = u8::try_from(attr.path_mtu).ok().filter(|mtu| (1..=most).contains(mtu));
        wanted = wanted.path_mtu(mtu.ok_or(invalid("a path MTU that the port does not carry"))?);
    }
    wanted = numbers(wanted, attr, &has)?;
    if has(mask::IBV_QP_STATE) && attr.qp_state == ibv_qp_state::IBV_QPS_INIT {
        wanted = pair.inner.with_results(wanted)?;
    }
    pair.inner.modify(&wanted)?;
    if has(mask::IBV_QP_ACCESS_FLAGS) {
        lock(&pair.asked).access = access;
    }
    Ok(())
}

/// Those that are plain numbers.
fn numbers(mut wanted: Attributes, attr: &ibv_qp_attr, has: &dyn Fn(mask) -> bool) -> Outcome<Attributes> {
    let psn = |value: u32| Psn::new(value & PSN_BITS);
    if has(mask::IBV_QP_QKEY) {
        wanted = wanted.q_key(attr.qkey);
    }
    if has(mask::IBV_QP_DEST_QPN) {
        if attr.dest_qp_num > PSN_BITS {
            return Err(invalid("a number of a queue pair has 24 bits"));
        }
        wanted = wanted.peer(Qpn::new(attr.dest_qp_num));
    }
    if has(mask::IBV_QP_RQ_PSN) {
        wanted = wanted.receive_psn(psn(attr.rq_psn));
    }
    if has(mask::IBV_QP_SQ_PSN) {
        wanted = wanted.send_psn(psn(attr.sq_psn));
    }
    if has(mask::IBV_QP_TIMEOUT) {
        wanted = wanted.timeout(attr.timeout);
    }
    if has(mask::IBV_QP_RETRY_CNT) {
        wanted = wanted.retry(attr.retry_cnt);
    }
    if has(mask::IBV_QP_RNR_RETRY) {
        wanted = wanted.rnr_retry(attr.rnr_retry);
    }
    if has(mask::IBV_QP_MIN_RNR_TIMER) {
        wanted = wanted.min_rnr(attr.min_rnr_timer);
    }
    if has(mask::IBV_QP_MAX_QP_RD_ATOMIC) {
        wanted = wanted.reads_out(attr.max_rd_atomic);
    }
    if has(mask::IBV_QP_MAX_DEST_RD_ATOMIC) {
        wanted = wanted.reads_in(attr.max_dest_rd_atomic);
    }
    Ok(wanted)
}

/// Bits of a PSN, and of a queue pair's number.
const PSN_BITS: u32 = 0xff_ffff;

/// What a queue pair is set to.
pub(crate) fn query(pair: &Pair) -> Outcome<ibv_qp_attr> {
    let view = pair.inner.query()?;
    let mut attr: ibv_qp_attr = zeroed();
    attr.qp_state = u32::from(view.state);
    attr.cur_qp_state = attr.qp_state;
    attr.path_mtu = u32::from(view.path_mtu);
    attr.qkey = view.q_key;
    attr.rq_psn = view.expected_psn().value();
    attr.sq_psn = view.next_psn().value();
    attr.dest_qp_num = view.peer.value();
    attr.qp_access_flags = lock(&pair.asked).access;
    attr.cap = pair.cap;
    attr.ah_attr = vector(&view);
    attr.sq_draining = view.draining.into();
    attr.max_rd_atomic = view.reads_out;
    attr.max_dest_rd_atomic = view.reads_in;
    attr.min_rnr_timer = view.min_rnr;
    attr.port_num = PORT;
    attr.timeout = view.timeout;
    attr.retry_cnt = view.retry;
    attr.rnr_retry = view.rnr_retry;
    Ok(attr)
}

/// The way to its peer, if it has one.
fn vector(view: &stroma_verbs::QueuePairView) -> ibv_ah_attr {
    if view.peer_ip == 0 {
        return zeroed();
    }
    let mac = view.peer_mac.to_le_bytes();
    address::vector(&Address {
        mac: std::array::from_fn(|at| mac[at]),
        ip: std::net::Ipv6Addr::from(view.peer_ip.to_le_bytes()).to_canonical(),
        source_port: view.source_port,
        hop_limit: view.hop_limit,
        traffic_class: view.traffic_class,
        vlan: view.has_vlan.then_some(view.vlan),
        flow_label: view.flow_label,
        source_address: view.source_address,
    })
}
