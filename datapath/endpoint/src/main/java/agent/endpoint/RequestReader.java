package agent.endpoint;

import agent.identity.LabelSet;
import agent.node.Device;
import agent.node.Devices;
import agent.node.InterfaceName;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Makes records of requests: every value is checked before anything is done. */
final class RequestReader {
  private final RequestIdentifiers identifiers;
  private final Devices devices;
  private final Set<String> nodeDevices;
  private final EndpointOptions defaults;

  RequestReader(RequestIdentifiers identifiers, EndpointContext context) {
    this.identifiers = identifiers;
    this.devices = context.devices();
    this.nodeDevices = context.nodeDevices();
    this.defaults = context.defaultOptions();
  }

  /** The local id that is asked for, 0 for any. */
  int localId(EndpointIdentifier path, EndpointRequest request) {
    return identifiers.localId(path, request);
  }

  /**
   * The record of a new endpoint, without id and identity and with the addresses as they are named.
   */
  EndpointRecord created(EndpointIdentifier path, EndpointRequest request) {
    EndpointState.parse("state", request.state());
    final DatapathConfiguration wiring =
        request.datapathConfiguration() == null
            ? DatapathConfiguration.DEFAULT
            : request.datapathConfiguration();
    final Device device = device(request.interfaceName(), request.interfaceIndex());
    return new EndpointRecord(
        0,
        0,
        AddressClaims.read(request.addressing()),
        identifiers.created(path, request),
        device.name(),
        device.index(),
        mac("mac", request.mac(), null),
        mac("host-mac", request.hostMac(), device.mac()),
        labels("labels", request.labels()),
        List.of(),
        options(wiring),
        wiring,
        new WorkloadDescription(
            request.netnsCookie(),
            request.pid(),
            request.datapathMapId(),
            request.policyEnabled(),
            request.properties()));
  }

  private Map<String, String> options(DatapathConfiguration wiring) {
    return Boolean.TRUE.equals(wiring.disableSourceVerification())
        ? defaults.with(MutableOption.SOURCE_IP_VERIFICATION, MutableOption.DISABLED).toMap()
        : defaults.toMap();
  }

  /** The record after a change: what the request does not name stays. */
  EndpointRecord modified(EndpointRecord before, EndpointRequest request) {
    EndpointState.parse("state", request.state());
    if (request.id() != null && request.id() != 0 && request.id() != before.id()) {
      throw Refusal.invalid("id", request.id() + " in the body, " + before.id() + " in the path");
    }
    sameAddresses(before.addressing(), AddressClaims.read(request.addressing()));
    EndpointRecord after = before;
    if (request.interfaceName() != null || request.interfaceIndex() != null) {
      final Device device = device(request.interfaceName(), request.interfaceIndex());
      after = after.withInterface(device.name(), device.index(), before.mac(), before.hostMac());
    }
    after =
        after.withInterface(
            after.interfaceName(),
            after.interfaceIndex(),
            mac("mac", request.mac(), before.mac()),
            mac("host-mac", request.hostMac(), before.hostMac()));
    if (request.labels() != null) {
      after = after.withLabels(labels("labels", request.labels()), before.userLabels());
    }
    return wired(after, request)
        .withDescription(
            identifiers.modified(before.externalIdentifiers(), request),
            described(before.workload(), request));
  }

  private static void sameAddresses(EndpointAddressing before, EndpointAddressing named) {
    if (named.ipv4() != null && !named.ipv4().equals(before.ipv4())) {
      throw Refusal.invalid("addressing.ipv4", "the address of an endpoint cannot be changed");
    }
    if (named.ipv6() != null && !named.ipv6().equals(before.ipv6())) {
      throw Refusal.invalid("addressing.ipv6", "the address of an endpoint cannot be changed");
    }
  }

  private static EndpointRecord wired(EndpointRecord before, EndpointRequest request) {
    final DatapathConfiguration asked = request.datapathConfiguration();
    if (asked == null) {
      return before;
    }
    final DatapathConfiguration now = before.datapathConfiguration();
    final DatapathConfiguration wiring =
        new DatapathConfiguration(
            or(asked.disableSourceVerification(), now.disableSourceVerification()),
            or(asked.externalIpam(), now.externalIpam()),
            or(asked.installEndpointRoute(), now.installEndpointRoute()),
            or(asked.requireArpPassthrough(), now.requireArpPassthrough()),
            or(asked.requireEgressProgram(), now.requireEgressProgram()),
            or(asked.requireRouting(), now.requireRouting()));
    if (wiring.addressesAreExternal() != now.addressesAreExternal()) {
      throw Refusal.invalid("datapath-configuration.external-ipam", "is decided on creation");
    }
    if (wiring.routed() != now.routed()) {
      throw Refusal.invalid(
          "datapath-configuration.install-endpoint-route", "is decided on creation");
    }
    EndpointOptions options = EndpointOptions.defaults().with(before.options());
    if (asked.disableSourceVerification() != null) {
      options =
          options.with(
              MutableOption.SOURCE_IP_VERIFICATION,
              asked.disableSourceVerification() ? MutableOption.DISABLED : MutableOption.ENABLED);
    }
    return before.withOptions(options.toMap(), wiring);
  }

  private static WorkloadDescription described(WorkloadDescription before, EndpointRequest asked) {
    return new WorkloadDescription(
        or(asked.netnsCookie(), before.netnsCookie()),
        or(asked.pid(), before.pid()),
        or(asked.datapathMapId(), before.datapathMapId()),
        or(asked.policyEnabled(), before.policyEnabled()),
        or(asked.properties(), before.properties()));
  }

  private static <T> T or(T asked, T before) {
    return asked == null ? before : asked;
  }

  /** Labels in display form and in order, each once. */
  static List<String> labels(String field, List<String> labels) {
    return labels == null ? List.of() : LabelSet.parseUser(field, labels).toStrings();
  }

  private static MacAddress mac(String field, String text, MacAddress otherwise) {
    if (text == null || text.isEmpty()) {
      if (otherwise == null) {
        throw Refusal.invalid(field, "a MAC address is needed");
      }
      return otherwise;
    }
    final MacAddress mac = MacAddress.parse(field, text);
    if (mac.isMulticast() || mac.bits() == 0) {
      throw Refusal.invalid(field, "'" + text + "' is not the address of an interface");
    }
    return mac;
  }

  /** The host side of a veth: any other device would be lost to the node with its endpoint. */
  private Device device(String name, Integer index) {
    final Device device = found(name, index);
    if (nodeDevices.contains(device.name())) {
      throw Refusal.conflict(
          "interface-name", "'" + device.name() + "' is in use as a device of the node");
    }
    if (!device.isVeth()) {
      throw Refusal.invalid(
          "interface-name", "'" + device.name() + "' is not the host side of a veth");
    }
    return device;
  }

  private Device found(String name, Integer index) {
    final boolean isNamed = name != null && !name.isEmpty();
    if (!isNamed && (index == null || index == 0)) {
      throw Refusal.invalid("interface-name", "the host side of the workload's veth is needed");
    }
    if (index != null && index < 0) {
      throw Refusal.invalid("interface-index", index + " is not an interface index");
    }
    if (!isNamed) {
      final Device device =
          devices
              .byIndex(index)
              .orElseThrow(
                  () ->
                      Refusal.invalid(
                          "interface-index", "there is no interface with index " + index));
      InterfaceName.check("interface-index", device.name());
      return device;
    }
    InterfaceName.check("interface-name", name);
    final Device device =
        devices
            .byName(name)
            .orElseThrow(
                () -> Refusal.invalid("interface-name", "there is no interface '" + name + "'"));
    if (index != null && index != 0 && index != device.index()) {
      throw Refusal.invalid(
          "interface-index", index + " is not the index of '" + name + "', " + device.index());
    }
    return device;
  }
}
