package agent.endpoint.request;

import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.MutableOption;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.LabelSet;
import agent.node.Devices;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Converts requests into records; checks every value before any state changes. */
public final class RequestReader {
  /** The states that a client may name; the agent decides the actual one. */
  private static final Set<String> CLIENT_STATES =
      Set.of("", "creating", "ready", "waiting-for-identity");

  private final RequestIdentifiers identifiers;
  private final RequestedDevice device;
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
    device = new RequestedDevice(devices, nodeDevices);
    this.defaults = defaults;
  }

  /** Returns the requested local id; 0 lets the agent allocate one. */
  int localId(EndpointIdentifier path, EndpointRequest request) {
    return identifiers.localId(path, request);
  }

  /**
   * Returns the record of a new endpoint of a source without id and identity, with the addresses
   * that the request names.
   */
  EndpointRecord created(EntrySource source, EndpointIdentifier path, EndpointRequest request) {
    checkServed(request);
    final DatapathConfiguration wiring =
        request.datapathConfiguration() == null
            ? DatapathConfiguration.DEFAULT
            : request.datapathConfiguration();
    return new EndpointRecord(
        0,
        0,
        AddressClaims.read(request.addressing()),
        identifiers.created(path, request),
        device.created(request),
        new EndpointRecord.LabelSources(labels("labels", request.labels()), List.of()),
        new EndpointRecord.Configuration(defaults.get().forWorkload(wiring).toMap(), wiring),
        new WorkloadDescription(
            request.netnsCookie(),
            request.pid(),
            request.datapathMapId(),
            null,
            request.properties()),
        NamedPortReader.read(request.namedPorts()),
        source);
  }

  /** Refuses what has no effect here. */
  private static void checkServed(EndpointRequest request) {
    if (request.state() == null) {
      throw Refusal.invalid("state", "is missing");
    }
    if (!CLIENT_STATES.contains(request.state())) {
      throw Refusal.invalid(
          "state",
          "'%s' is not one of '', 'creating', 'ready' and 'waiting-for-identity'"
              .formatted(request.state()));
    }
    if (request.policyEnabled() != null) {
      throw Refusal.invalid(
          "policy-enabled", "cannot be set: the rules and --enable-policy decide enforcement");
    }
    final DatapathConfiguration wiring = request.datapathConfiguration();
    if (wiring == null) {
      return;
    }
    if (wiring.requireRouting() != null) {
      throw Refusal.invalid(
          "datapath-configuration.require-routing",
          "cannot be set per endpoint: --host-routing applies to the whole node");
    }
    if (Boolean.FALSE.equals(wiring.requireEgressProgram())) {
      throw Refusal.invalid(
          "datapath-configuration.require-egress-prog",
          "cannot be false: this program enforces the ingress policy of the workload");
    }
  }

  /** Returns the record after a change; absent fields keep their values. */
  EndpointRecord modified(EndpointRecord before, EndpointRequest request) {
    checkServed(request);
    if (request.id() != null && request.id() != 0 && request.id() != before.id()) {
      throw Refusal.invalid(
          "id", request.id() + " in the body does not match " + before.id() + " in the path");
    }
    AddressClaims.checkSame(before.addressing(), AddressClaims.read(request.addressing()));
    EndpointRecord after = before.withDevice(device.modified(before.device(), request));
    if (request.labels() != null) {
      after =
          after.withLabels(
              new EndpointRecord.LabelSources(
                  labels("labels", request.labels()), before.labels().user()));
    }
    if (request.namedPorts() != null) {
      after = after.withNamedPorts(NamedPortReader.read(request.namedPorts()));
    }
    return withDatapathOptions(after, request)
        .withDescription(
            identifiers.modified(before.externalIdentifiers(), request),
            described(before.workload(), request));
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
      throw Refusal.invalid("datapath-configuration.external-ipam", "can only be set on creation");
    }
    if (wiring.routed() != now.routed()) {
      throw Refusal.invalid(
          "datapath-configuration.install-endpoint-route", "can only be set on creation");
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
        before.policyEnabled(),
        or(asked.properties(), before.properties()));
  }

  private static <T> T or(T asked, T before) {
    return asked == null ? before : asked;
  }

  /** Returns the labels in display form, sorted, without duplicates. */
  static List<String> labels(String field, List<String> labels) {
    return labels == null ? List.of() : LabelSet.parseUser(field, labels).toStrings();
  }
}
