package agent.fuzz;

import agent.contract.RequestFuzz;
import agent.dns.proxy.DnsAnswerFuzz;
import agent.dns.proxy.DnsQuestionFuzz;
import agent.domain.proxy.ProxyFrameFuzz;
import agent.endpoint.state.EndpointIdentifierFuzz;
import agent.identity.LabelFuzz;
import agent.l7proxy.Http2FrameFuzz;
import agent.l7proxy.RequestHeadFuzz;
import agent.l7proxy.ResponseHeadFuzz;
import agent.launcher.options.OptionFuzz;
import agent.maps.btf.BtfFuzz;
import agent.node.netlink.NetlinkFuzz;
import agent.policy.rule.RuleFuzz;
import agent.server.HttpFuzz;
import agent.server.RequestTargetFuzz;
import agent.state.StateFuzz;
import agent.types.AddressFuzz;
import java.util.List;

/**
 * The targets: each is a class with a method {@code fuzzerTestOneInput(byte[])}, in the package of
 * the parser that it calls. An input that is not accepted must be refused as the parser documents;
 * one that is accepted must keep its meaning when it is written and read again.
 */
enum FuzzTarget {
  ADDRESS(AddressFuzz.class, AddressFuzz.SEEDS, 1_720_000),
  LABEL(LabelFuzz.class, LabelFuzz.SEEDS, 125_000),
  ENDPOINT_IDENTIFIER(EndpointIdentifierFuzz.class, EndpointIdentifierFuzz.SEEDS, 1_680_000),
  RULE(RuleFuzz.class, RuleFuzz.SEEDS, 200_000),
  REQUEST(RequestFuzz.class, RequestFuzz.SEEDS, 190_000),
  REQUEST_TARGET(RequestTargetFuzz.class, RequestTargetFuzz.SEEDS, 670_000),
  HTTP(HttpFuzz.class, HttpFuzz.SEEDS, 29_000),
  REQUEST_HEAD(RequestHeadFuzz.class, RequestHeadFuzz.SEEDS, 410_000),
  RESPONSE_HEAD(ResponseHeadFuzz.class, ResponseHeadFuzz.SEEDS, 370_000),
  HTTP2_FRAME(Http2FrameFuzz.class, Http2FrameFuzz.SEEDS, 132_000),
  DNS_ANSWER(DnsAnswerFuzz.class, DnsAnswerFuzz.SEEDS, 980_000),
  DNS_QUESTION(DnsQuestionFuzz.class, DnsQuestionFuzz.SEEDS, 8_220_000),
  PROXY_FRAME(ProxyFrameFuzz.class, ProxyFrameFuzz.SEEDS, 34_000),
  OPTION(OptionFuzz.class, OptionFuzz.SEEDS, 61_000),
  NETLINK(NetlinkFuzz.class, NetlinkFuzz.SEEDS, 670_000),
  BTF(BtfFuzz.class, BtfFuzz.SEEDS, 2_980_000),
  STATE(StateFuzz.class, StateFuzz.SEEDS, 570_000);

  private final Class<?> type;
  private final List<byte[]> seeds;
  private final int inputs;

  FuzzTarget(Class<?> type, List<byte[]> seeds, int inputs) {
    this.type = type;
    this.seeds = seeds;
    this.inputs = inputs;
  }

  Class<?> type() {
    return type;
  }

  /** Returns inputs that the parser accepts, or that it once treated wrongly. */
  List<byte[]> seeds() {
    return seeds;
  }

  /**
   * Returns how many inputs it gets where a run has no limit of its time: as many as it read in 20
   * seconds beside three others on two processors.
   */
  int inputs() {
    return inputs;
  }
}
