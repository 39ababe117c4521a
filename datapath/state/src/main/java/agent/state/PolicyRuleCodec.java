package agent.state;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import java.util.List;

/**
 * The codec of a rule in the stored policy. An absent field is null; fields that every valid rule
 * has are required.
 */
final class PolicyRuleCodec {
  private PolicyRuleCodec() {}

  static void writeRule(DocumentWriter out, RuleSpec rule) {
    out.beginObject();
    out.member("endpointSelector", rule.endpointSelector(), PolicyRuleCodec::writeSelector);
    out.memberOrNull("ingress", rule.ingress(), PolicyRuleCodec::writePeers);
    out.memberOrNull("egress", rule.egress(), PolicyRuleCodec::writePeers);
    out.memberOrNull("ingressDeny", rule.ingressDeny(), PolicyRuleCodec::writePeers);
    out.memberOrNull("egressDeny", rule.egressDeny(), PolicyRuleCodec::writePeers);
    out.memberOrNull(
        "labels", rule.labels(), (to, labels) -> to.list(labels, PolicyRuleCodec::writeLabel));
    out.memberOrNull("description", rule.description(), DocumentWriter::text);
    if (rule.enableDefaultDeny() != null) {
      out.member("enableDefaultDeny", rule.enableDefaultDeny(), PolicyRuleCodec::writeDefaultDeny);
    }
    if (!rule.source().equals(EntrySource.API)) { // a release before 0.10 does not read it
      out.member("source", rule.source(), DocumentWriter::text);
    }
    out.endObject();
  }

  static RuleSpec readRule(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new RuleSpec(
        in.member("endpointSelector", PolicyRuleCodec::readSelector),
        in.memberOrNull("ingress", PolicyRuleCodec::readPeers),
        in.memberOrNull("egress", PolicyRuleCodec::readPeers),
        in.memberOrNull("ingressDeny", PolicyRuleCodec::readDenies),
        in.memberOrNull("egressDeny", PolicyRuleCodec::readDenies),
        in.memberOrNull("labels", from -> from.list(PolicyRuleCodec::readLabel)),
        in.memberOrNull("description", DocumentReader::text),
        in.laterMember("enableDefaultDeny", PolicyRuleCodec::readDefaultDeny),
        in.lastMember("source", DocumentReader::source));
  }

  /** Former releases took {@code {}} for everything; as a deny it is that to this day. */
  private static List<PeerRuleSpec> readDenies(DocumentReader in) throws DamagedStateException {
    return readPeers(in).stream().map(peer -> peer.isEmpty() ? PeerRuleSpec.ALL : peer).toList();
  }

  private static void writeDefaultDeny(DocumentWriter out, DefaultDenySpec spec) {
    out.beginObject();
    out.memberOrNull("ingress", spec.ingress(), DocumentWriter::bool);
    out.memberOrNull("egress", spec.egress(), DocumentWriter::bool);
    out.endObject();
  }

  private static DefaultDenySpec readDefaultDeny(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final DefaultDenySpec spec =
        new DefaultDenySpec(
            in.memberOrNull("ingress", DocumentReader::bool),
            in.memberOrNull("egress", DocumentReader::bool));
    in.endObject();
    return spec;
  }

  private static void writeSelector(DocumentWriter out, SelectorSpec selector) {
    out.beginObject();
    out.memberOrNull("matchLabels", selector.matchLabels(), DocumentWriter::textMap);
    out.memberOrNull(
        "matchExpressions",
        selector.matchExpressions(),
        (to, expressions) -> to.list(expressions, PolicyRuleCodec::writeExpression));
    out.endObject();
  }

  private static SelectorSpec readSelector(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final SelectorSpec selector =
        new SelectorSpec(
            in.memberOrNull("matchLabels", DocumentReader::textMap),
            in.memberOrNull(
                "matchExpressions", from -> from.list(PolicyRuleCodec::readExpression)));
    in.endObject();
    return selector;
  }

  private static void writeExpression(DocumentWriter out, ExpressionSpec expression) {
    out.beginObject();
    out.member("key", expression.key(), DocumentWriter::text);
    out.member("operator", expression.operator(), DocumentWriter::text);
    out.memberOrNull("values", expression.values(), DocumentWriter::texts);
    out.endObject();
  }

  private static ExpressionSpec readExpression(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final ExpressionSpec expression =
        new ExpressionSpec(
            in.member("key", DocumentReader::text),
            in.member("operator", DocumentReader::text),
            in.memberOrNull("values", DocumentReader::texts));
    in.endObject();
    return expression;
  }

  private static void writePeers(DocumentWriter out, List<PeerRuleSpec> peers) {
    out.list(peers, PolicyRuleCodec::writePeer);
  }

  private static List<PeerRuleSpec> readPeers(DocumentReader in) throws DamagedStateException {
    return in.list(PolicyRuleCodec::readPeer);
  }

  private static void writePeer(DocumentWriter out, PeerRuleSpec peer) {
    out.beginObject();
    out.memberOrNull(
        "endpoints", peer.endpoints(), (to, all) -> to.list(all, PolicyRuleCodec::writeSelector));
    out.memberOrNull(
        "requires", peer.requires(), (to, all) -> to.list(all, PolicyRuleCodec::writeSelector));
    out.memberOrNull("cidrs", peer.cidrs(), DocumentWriter::texts);
    out.memberOrNull(
        "cidrSets", peer.cidrSets(), (to, all) -> to.list(all, PolicyRuleCodec::writeCidrSet));
    out.memberOrNull("entities", peer.entities(), DocumentWriter::texts);
    out.memberOrNull(
        "toPorts", peer.toPorts(), (to, all) -> to.list(all, PolicyRuleCodec::writePorts));
    out.memberOrNull("icmps", peer.icmps(), (to, all) -> to.list(all, PolicyRuleCodec::writeIcmp));
    out.memberOrNull("unserved", peer.unserved(), DocumentWriter::texts);
    if (peer.fqdns() != null) {
      out.member("fqdns", peer.fqdns(), (to, all) -> to.list(all, PolicyRuleCodec::writeFqdn));
    }
    if (peer.services() != null) {
      out.member(
          "services", peer.services(), (to, all) -> to.list(all, PolicyRuleCodec::writeService));
    }
    out.endObject();
  }

  private static PeerRuleSpec readPeer(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new PeerRuleSpec(
        in.memberOrNull("endpoints", from -> from.list(PolicyRuleCodec::readSelector)),
        in.memberOrNull("requires", from -> from.list(PolicyRuleCodec::readSelector)),
        in.memberOrNull("cidrs", DocumentReader::texts),
        in.memberOrNull("cidrSets", from -> from.list(PolicyRuleCodec::readCidrSet)),
        in.memberOrNull("entities", DocumentReader::texts),
        in.memberOrNull("toPorts", from -> from.list(PolicyRuleCodec::readPorts)),
        in.memberOrNull("icmps", from -> from.list(PolicyRuleCodec::readIcmp)),
        in.memberOrNull("unserved", DocumentReader::texts),
        in.laterMember("fqdns", from -> from.list(PolicyRuleCodec::readFqdn)),
        in.lastMember("services", from -> from.list(PolicyRuleCodec::readService)));
  }

  private static void writeService(DocumentWriter out, ServiceSpec service) {
    out.beginObject();
    out.member("name", service.name(), DocumentWriter::text);
    out.memberOrNull("namespace", service.namespace(), DocumentWriter::text);
    out.endObject();
  }

  private static ServiceSpec readService(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final ServiceSpec service =
        new ServiceSpec(
            in.member("name", DocumentReader::text),
            in.memberOrNull("namespace", DocumentReader::text));
    in.endObject();
    return service;
  }

  private static void writeFqdn(DocumentWriter out, FqdnSpec names) {
    out.beginObject();
    out.memberOrNull("matchName", names.matchName(), DocumentWriter::text);
    out.memberOrNull("matchPattern", names.matchPattern(), DocumentWriter::text);
    out.endObject();
  }

  private static FqdnSpec readFqdn(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final FqdnSpec names =
        new FqdnSpec(
            in.memberOrNull("matchName", DocumentReader::text),
            in.memberOrNull("matchPattern", DocumentReader::text));
    in.endObject();
    return names;
  }

  private static void writeCidrSet(DocumentWriter out, CidrSetSpec set) {
    out.beginObject();
    out.member("cidr", set.cidr(), DocumentWriter::text);
    out.memberOrNull("except", set.except(), DocumentWriter::texts);
    out.endObject();
  }

  private static CidrSetSpec readCidrSet(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final CidrSetSpec set =
        new CidrSetSpec(
            in.member("cidr", DocumentReader::text),
            in.memberOrNull("except", DocumentReader::texts));
    in.endObject();
    return set;
  }

  private static void writePorts(DocumentWriter out, PortRuleSpec rule) {
    out.beginObject();
    out.member("ports", rule.ports(), (to, ports) -> to.list(ports, PolicyRuleCodec::writePort));
    out.memberOrNull("unserved", rule.unserved(), DocumentWriter::texts);
    if (rule.rules() != null) {
      out.member("rules", rule.rules(), PolicyRuleCodec::writeRequests);
    }
    out.endObject();
  }

  private static PortRuleSpec readPorts(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new PortRuleSpec(
        in.member("ports", from -> from.list(PolicyRuleCodec::readPort)),
        in.memberOrNull("unserved", DocumentReader::texts),
        in.lastMember("rules", PolicyRuleCodec::readRequests));
  }

  private static void writeRequests(DocumentWriter out, RequestRuleSpec rules) {
    out.beginObject();
    out.memberOrNull("http", rules.http(), (to, all) -> to.list(all, PolicyRuleCodec::writeHttp));
    out.memberOrNull("dns", rules.dns(), (to, all) -> to.list(all, PolicyRuleCodec::writeFqdn));
    out.endObject();
  }

  private static RequestRuleSpec readRequests(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final RequestRuleSpec rules =
        new RequestRuleSpec(
            in.memberOrNull("http", from -> from.list(PolicyRuleCodec::readHttp)),
            in.memberOrNull("dns", from -> from.list(PolicyRuleCodec::readFqdn)));
    in.endObject();
    return rules;
  }

  private static void writeHttp(DocumentWriter out, HttpSpec http) {
    out.beginObject();
    out.memberOrNull("method", http.method(), DocumentWriter::text);
    out.memberOrNull("path", http.path(), DocumentWriter::text);
    out.memberOrNull("host", http.host(), DocumentWriter::text);
    out.memberOrNull("headers", http.headers(), DocumentWriter::texts);
    out.memberOrNull(
        "headerMatches",
        http.headerMatches(),
        (to, all) -> to.list(all, PolicyRuleCodec::writeHeaderMatch));
    out.endObject();
  }

  private static HttpSpec readHttp(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final HttpSpec http =
        new HttpSpec(
            in.memberOrNull("method", DocumentReader::text),
            in.memberOrNull("path", DocumentReader::text),
            in.memberOrNull("host", DocumentReader::text),
            in.memberOrNull("headers", DocumentReader::texts),
            in.memberOrNull("headerMatches", from -> from.list(PolicyRuleCodec::readHeaderMatch)));
    in.endObject();
    return http;
  }

  private static void writeHeaderMatch(DocumentWriter out, HeaderMatchSpec match) {
    out.beginObject();
    out.member("name", match.name(), DocumentWriter::text);
    out.memberOrNull("value", match.value(), DocumentWriter::text);
    out.memberOrNull("mismatch", match.mismatch(), DocumentWriter::text);
    out.endObject();
  }

  private static HeaderMatchSpec readHeaderMatch(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final HeaderMatchSpec match =
        new HeaderMatchSpec(
            in.member("name", DocumentReader::text),
            in.memberOrNull("value", DocumentReader::text),
            in.memberOrNull("mismatch", DocumentReader::text));
    in.endObject();
    return match;
  }

  private static void writePort(DocumentWriter out, PortSpec port) {
    out.beginObject();
    out.memberOrNull("port", port.port(), DocumentWriter::text);
    out.memberOrNull("endPort", port.endPort(), DocumentWriter::integer);
    out.memberOrNull("protocol", port.protocol(), DocumentWriter::text);
    out.endObject();
  }

  private static PortSpec readPort(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final PortSpec port =
        new PortSpec(
            in.memberOrNull("port", DocumentReader::text),
            in.memberOrNull("endPort", DocumentReader::integer),
            in.memberOrNull("protocol", DocumentReader::text));
    in.endObject();
    return port;
  }

  private static void writeIcmp(DocumentWriter out, IcmpRuleSpec rule) {
    out.beginObject();
    out.member(
        "fields", rule.fields(), (to, fields) -> to.list(fields, PolicyRuleCodec::writeIcmpField));
    out.endObject();
  }

  private static IcmpRuleSpec readIcmp(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final IcmpRuleSpec rule =
        new IcmpRuleSpec(in.member("fields", from -> from.list(PolicyRuleCodec::readIcmpField)));
    in.endObject();
    return rule;
  }

  private static void writeIcmpField(DocumentWriter out, IcmpFieldSpec field) {
    out.beginObject();
    out.memberOrNull("family", field.family(), DocumentWriter::text);
    out.member("type", field.type(), DocumentWriter::textOrInteger);
    out.endObject();
  }

  private static IcmpFieldSpec readIcmpField(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final IcmpFieldSpec field =
        new IcmpFieldSpec(
            in.memberOrNull("family", DocumentReader::text),
            in.member("type", DocumentReader::textOrInteger));
    in.endObject();
    return field;
  }

  private static void writeLabel(DocumentWriter out, LabelSpec label) {
    out.beginObject();
    out.member("key", label.key(), DocumentWriter::text);
    out.memberOrNull("value", label.value(), DocumentWriter::text);
    out.memberOrNull("source", label.source(), DocumentWriter::text);
    out.endObject();
  }

  private static LabelSpec readLabel(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final LabelSpec label =
        new LabelSpec(
            in.member("key", DocumentReader::text),
            in.memberOrNull("value", DocumentReader::text),
            in.memberOrNull("source", DocumentReader::text));
    in.endObject();
    return label;
  }
}
