package agent.state;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.policy.spec.NamedPort;
import agent.types.EntrySource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** The codec of {@code endpoints/<id>.json}. */
final class EndpointCodec implements Codec<EndpointRecord> {
  private static final int HIGHEST_PORT = 65535;
  private static final Set<String> PROTOCOLS = Set.of("TCP", "UDP", "SCTP");

  @Override
  public void write(DocumentWriter out, EndpointRecord endpoint) {
    out.beginObject();
    out.member("id", endpoint.id(), DocumentWriter::integer);
    out.member("identity", endpoint.identity(), DocumentWriter::integer);
    out.member("addressing", endpoint.addressing(), EndpointCodec::writeAddressing);
    out.member(
        "externalIdentifiers", endpoint.externalIdentifiers(), EndpointCodec::writeIdentifiers);
    out.member("interfaceName", endpoint.device().name(), DocumentWriter::text);
    out.member("interfaceIndex", endpoint.device().index(), DocumentWriter::integer);
    out.member("mac", endpoint.device().mac(), DocumentWriter::text);
    out.member("hostMac", endpoint.device().hostMac(), DocumentWriter::text);
    out.member("labels", endpoint.labels().derived(), DocumentWriter::texts);
    out.member("userLabels", endpoint.labels().user(), DocumentWriter::texts);
    out.member("options", endpoint.configuration().options(), DocumentWriter::textMap);
    out.member(
        "datapathConfiguration", endpoint.configuration().datapath(), EndpointCodec::writeDatapath);
    out.member("workload", endpoint.workload(), EndpointCodec::writeWorkload);
    if (!endpoint.namedPorts().isEmpty()) { // an endpoint without them is readable to 0.8
      out.member("namedPorts", endpoint.namedPorts(), EndpointCodec::writePorts);
    }
    if (!endpoint.source().equals(EntrySource.API)) { // a release before 0.10 does not read it
      out.member("source", endpoint.source(), DocumentWriter::text);
    }
    out.endObject();
  }

  @Override
  public EndpointRecord read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new EndpointRecord(
        in.member("id", DocumentReader::integer),
        in.member("identity", DocumentReader::integer),
        in.member("addressing", EndpointCodec::readAddressing),
        in.member("externalIdentifiers", EndpointCodec::readIdentifiers),
        new EndpointDevice(
            in.member("interfaceName", DocumentReader::text),
            in.member("interfaceIndex", DocumentReader::integer),
            in.member("mac", DocumentReader::mac),
            in.member("hostMac", DocumentReader::mac)),
        new EndpointRecord.LabelSources(
            in.member("labels", DocumentReader::texts),
            in.member("userLabels", DocumentReader::texts)),
        new EndpointRecord.Configuration(
            in.member("options", DocumentReader::textMap),
            in.member("datapathConfiguration", EndpointCodec::readDatapath)),
        in.member("workload", EndpointCodec::readWorkload),
        Objects.requireNonNullElse(
            in.laterMember("namedPorts", from -> from.list(EndpointCodec::readPort)), List.of()),
        Objects.requireNonNullElse(
            in.lastMember("source", DocumentReader::source), EntrySource.API));
  }

  private static void writePorts(DocumentWriter out, List<NamedPort> ports) {
    out.list(ports, EndpointCodec::writePort);
  }

  private static void writePort(DocumentWriter out, NamedPort port) {
    out.beginObject();
    out.member("name", port.name(), DocumentWriter::text);
    out.member("port", port.port(), DocumentWriter::integer);
    out.member("protocol", port.protocol(), DocumentWriter::text);
    out.endObject();
  }

  private static NamedPort readPort(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final NamedPort port =
        new NamedPort(
            in.member("name", DocumentReader::text),
            in.member("port", DocumentReader::integer),
            in.member("protocol", DocumentReader::text));
    in.endObject();
    in.check(
        NamedPort.name(port.name()).equals(Optional.of(port.name()))
            && port.port() > 0
            && port.port() <= HIGHEST_PORT
            && PROTOCOLS.contains(port.protocol()),
        "is not a named port");
    return port;
  }

  private static void writeAddressing(DocumentWriter out, EndpointAddressing addressing) {
    out.beginObject();
    out.memberOrNull("ipv4", addressing.ipv4(), DocumentWriter::text);
    out.memberOrNull("ipv4ExpirationUuid", addressing.ipv4ExpirationUuid(), DocumentWriter::text);
    out.memberOrNull("ipv4PoolName", addressing.ipv4PoolName(), DocumentWriter::text);
    out.memberOrNull("ipv6", addressing.ipv6(), DocumentWriter::text);
    out.memberOrNull("ipv6ExpirationUuid", addressing.ipv6ExpirationUuid(), DocumentWriter::text);
    out.memberOrNull("ipv6PoolName", addressing.ipv6PoolName(), DocumentWriter::text);
    out.endObject();
  }

  private static EndpointAddressing readAddressing(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final EndpointAddressing addressing =
        new EndpointAddressing(
            in.memberOrNull("ipv4", DocumentReader::address),
            in.memberOrNull("ipv4ExpirationUuid", DocumentReader::text),
            in.memberOrNull("ipv4PoolName", DocumentReader::text),
            in.memberOrNull("ipv6", DocumentReader::address),
            in.memberOrNull("ipv6ExpirationUuid", DocumentReader::text),
            in.memberOrNull("ipv6PoolName", DocumentReader::text));
    in.endObject();
    return addressing;
  }

  private static void writeIdentifiers(DocumentWriter out, ExternalIdentifiers identifiers) {
    out.beginObject();
    out.memberOrNull("containerId", identifiers.containerId(), DocumentWriter::text);
    out.memberOrNull("containerName", identifiers.containerName(), DocumentWriter::text);
    out.memberOrNull(
        "containerInterfaceName", identifiers.containerInterfaceName(), DocumentWriter::text);
    out.memberOrNull("runtimeEndpointId", identifiers.runtimeEndpointId(), DocumentWriter::text);
    out.memberOrNull("runtimeNetworkId", identifiers.runtimeNetworkId(), DocumentWriter::text);
    out.memberOrNull("namespace", identifiers.namespace(), DocumentWriter::text);
    out.memberOrNull("podName", identifiers.podName(), DocumentWriter::text);
    out.memberOrNull("podUid", identifiers.podUid(), DocumentWriter::text);
    out.member("legacyDisabled", identifiers.legacyDisabled(), DocumentWriter::bool);
    out.endObject();
  }

  private static ExternalIdentifiers readIdentifiers(DocumentReader in)
      throws DamagedStateException {
    in.beginObject();
    final ExternalIdentifiers identifiers =
        new ExternalIdentifiers(
            in.memberOrNull("containerId", DocumentReader::text),
            in.memberOrNull("containerName", DocumentReader::text),
            in.memberOrNull("containerInterfaceName", DocumentReader::text),
            in.memberOrNull("runtimeEndpointId", DocumentReader::text),
            in.memberOrNull("runtimeNetworkId", DocumentReader::text),
            in.memberOrNull("namespace", DocumentReader::text),
            in.memberOrNull("podName", DocumentReader::text),
            in.memberOrNull("podUid", DocumentReader::text),
            in.member("legacyDisabled", DocumentReader::bool));
    in.endObject();
    return identifiers;
  }

  private static void writeDatapath(DocumentWriter out, DatapathConfiguration asked) {
    out.beginObject();
    out.memberOrNull(
        "disableSourceVerification", asked.disableSourceVerification(), DocumentWriter::bool);
    out.memberOrNull("externalIpam", asked.externalIpam(), DocumentWriter::bool);
    out.memberOrNull("installEndpointRoute", asked.installEndpointRoute(), DocumentWriter::bool);
    out.memberOrNull("requireArpPassthrough", asked.requireArpPassthrough(), DocumentWriter::bool);
    out.memberOrNull("requireEgressProgram", asked.requireEgressProgram(), DocumentWriter::bool);
    out.memberOrNull("requireRouting", asked.requireRouting(), DocumentWriter::bool);
    out.endObject();
  }

  private static DatapathConfiguration readDatapath(DocumentReader in)
      throws DamagedStateException {
    in.beginObject();
    final DatapathConfiguration asked =
        new DatapathConfiguration(
            in.memberOrNull("disableSourceVerification", DocumentReader::bool),
            in.memberOrNull("externalIpam", DocumentReader::bool),
            in.memberOrNull("installEndpointRoute", DocumentReader::bool),
            in.memberOrNull("requireArpPassthrough", DocumentReader::bool),
            in.memberOrNull("requireEgressProgram", DocumentReader::bool),
            in.memberOrNull("requireRouting", DocumentReader::bool));
    in.endObject();
    return asked;
  }

  private static void writeWorkload(DocumentWriter out, WorkloadDescription workload) {
    out.beginObject();
    out.memberOrNull("netnsCookie", workload.netnsCookie(), DocumentWriter::text);
    out.memberOrNull("pid", workload.pid(), DocumentWriter::integer);
    out.memberOrNull("datapathMapId", workload.datapathMapId(), DocumentWriter::integer);
    out.memberOrNull("policyEnabled", workload.policyEnabled(), DocumentWriter::bool);
    out.memberOrNull("properties", workload.properties(), DocumentWriter::text);
    out.endObject();
  }

  private static WorkloadDescription readWorkload(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final WorkloadDescription workload =
        new WorkloadDescription(
            in.memberOrNull("netnsCookie", DocumentReader::text),
            in.memberOrNull("pid", DocumentReader::integer),
            in.memberOrNull("datapathMapId", DocumentReader::integer),
            in.memberOrNull("policyEnabled", DocumentReader::bool),
            in.memberOrNull("properties", DocumentReader::text));
    in.endObject();
    return workload;
  }
}
