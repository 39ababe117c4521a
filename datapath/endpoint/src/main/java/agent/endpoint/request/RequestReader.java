package agent.endpoint.request;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.MutableOption;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.LabelSet;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Converts requests into records; checks every value before any state changes. */
public final class RequestReader {
  private final RequestIdentifiers identifiers;
  private final Devices devices;
  private final Set<String> nodeDevices;
  private final Supplier<EndpointOptions> defaults;

  /**
   * Creates a reader.
   *
   * @param lookup decides whether an identifier refers to this node
   * @param devices the lookup of host sides
   * @param nodeDevices the names of devices of the node, which are refused
   * @param defaults reads the options of a new endpoint
   */
  public RequestReader(
      EndpointLookup lookup,
      Devices devices,
      Set<String> nodeDevices,
      Supplier<EndpointOptions> defaults) {
    identifiers = new RequestIdentifiers(lookup);
    this.devices = devices;
    this.nodeDevices = nodeDevices;
    this.defaults = defaults;
  }

  /** Returns the requested local id; 0 lets the agent allocate one. */
  int localId(EndpointIdentifier path, EndpointRequest request) {
    return identifiers.localId(path, request);
  }

  /**
   * Returns the record of a new endpoint without id and identity, with the addresses that the
   * request names.
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
        new EndpointDevice(
            device.name(),
            device.index(),
            mac("mac", request.mac(), null),
            hostMac(request, device)),
        new EndpointRecord.LabelSources(labels("labels", request.labels()), List.of()),
        new EndpointRecord.Configuration(defaults.get().forWorkload(wiring).toMap(), wiring),
        new WorkloadDescription(
            request.netnsCookie(),
            request.pid(),
            request.datapathMapId(),
            request.policyEnabled(),
            request.properties()));
  }

  /** Returns the record after a change; absent fields keep their values. */
  EndpointRecord modified(EndpointRecord before, EndpointRequest request) {
    EndpointState.parse("state", request.state());
    if (request.id() != null && request.id() != 0 && request.id() != before.id()) {
      throw Refusal.invalid("id", request.id() + " in the body, " + before.id() + " in the path");
    }
    sameAddresses(before.addressing(), AddressClaims.read(request.addressing()));
    EndpointDevice veth = before.device();
    if (request.interfaceName() != null || request.interfaceIndex() != null) {
      final Device device = device(request.interfaceName(), request.interfaceIndex());
      veth =
          new EndpointDevice(device.name(), device.index(), veth.mac(), hostMac(request, device));
    }
    EndpointRecord after =
        before.withDevice(
            new EndpointDevice(
                veth.name(),
                veth.index(),
                mac("mac", request.mac(), veth.mac()),
                mac("host-mac", request.hostMac(), veth.hostMac())));
    if (request.labels() != null) {
      after =
          after.withLabels(
              new EndpointRecord.LabelSources(
                  labels("labels", request.labels()), before.labels().user()));
    }
    return withDatapathOptions(after, request)
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

  private static EndpointRecord withDatapathOptions(
      EndpointRecord before, EndpointRequest request) {
    final DatapathConfiguration asked = request.datapathConfiguration();
    if (asked == null) {
      return before;
    }
    final DatapathConfiguration now = before.configuration().datapath();
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
    EndpointOptions options = EndpointOptions.defaults().with(before.configuration().options());
    if (asked.disableSourceVerification() != null) {
      options =
          options.with(
              MutableOption.SOURCE_IP_VERIFICATION,
              asked.disableSourceVerification() ? MutableOption.DISABLED : MutableOption.ENABLED);
    }
    return before.withConfiguration(new EndpointRecord.Configuration(options.toMap(), wiring));
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

  /** Returns the labels in display form, sorted, without duplicates. */
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

  /** Returns the address of the host side, which a request may repeat but not contradict. */
  private static MacAddress hostMac(EndpointRequest request, Device device) {
    final MacAddress named = mac("host-mac", request.hostMac(), device.mac());
    if (!named.equals(device.mac())) {
      throw Refusal.invalid(
          "host-mac", "'%s' has %s, not %s".formatted(device.name(), device.mac(), named));
    }
    return named;
  }

  /**
   * Returns the device, which must be the host side of a veth: removing the endpoint sets it down.
   */
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
