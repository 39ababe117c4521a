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
  ADDRESS(AddressFuzz.class, AddressFuzz.SEEDS),
  LABEL(LabelFuzz.class, LabelFuzz.SEEDS),
  ENDPOINT_IDENTIFIER(EndpointIdentifierFuzz.class, EndpointIdentifierFuzz.SEEDS),
  RULE(RuleFuzz.class, RuleFuzz.SEEDS),
  REQUEST(RequestFuzz.class, RequestFuzz.SEEDS),
  REQUEST_TARGET(RequestTargetFuzz.class, RequestTargetFuzz.SEEDS),
  HTTP(HttpFuzz.class, HttpFuzz.SEEDS),
  REQUEST_HEAD(RequestHeadFuzz.class, RequestHeadFuzz.SEEDS),
  RESPONSE_HEAD(ResponseHeadFuzz.class, ResponseHeadFuzz.SEEDS),
  HTTP2_FRAME(Http2FrameFuzz.class, Http2FrameFuzz.SEEDS),
  DNS_ANSWER(DnsAnswerFuzz.class, DnsAnswerFuzz.SEEDS),
  DNS_QUESTION(DnsQuestionFuzz.class, DnsQuestionFuzz.SEEDS),
  PROXY_FRAME(ProxyFrameFuzz.class, ProxyFrameFuzz.SEEDS),
  OPTION(OptionFuzz.class, OptionFuzz.SEEDS),
  NETLINK(NetlinkFuzz.class, NetlinkFuzz.SEEDS),
  BTF(BtfFuzz.class, BtfFuzz.SEEDS),
  STATE(StateFuzz.class, StateFuzz.SEEDS);

  private final Class<?> type;
  private final List<byte[]> seeds;

  FuzzTarget(Class<?> type, List<byte[]> seeds) {
    this.type = type;
    this.seeds = seeds;
  }

  Class<?> type() {
    return type;
  }

  /** Returns inputs that the parser accepts, or that it once treated wrongly. */
  List<byte[]> seeds() {
    return seeds;
  }
}
