package agent.endpoint.restore;

import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.spec.PolicyMapProxy;
import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.state.LabelDerivation;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Loads the records of the previous run into the registry: finds the interface of each, replaces
 * invalid options by the defaults, and restores its identity and addresses.
 */
public final class StoredEndpoints {
  private static final Logger LOGGER = LogManager.getLogger(StoredEndpoints.class);

  private final EndpointStore store;
  private final Ipam ipam;
  private final Devices devices;
  private final EndpointJournal journal;
  private final IdentityArrival arrival;
  private final Defaults defaults;
  private final List<Integer> removed = new ArrayList<>();
  private final List<Integer> invalid = new ArrayList<>();

  /**
   * The options of this run that affect stored endpoints.
   *
   * @param labelFilter the filter of identity-relevant labels
   * @param options the options of a new endpoint
   * @param keepsOptions whether endpoints keep their own options; if not, they get those of a new
   *     one
   */
  public record Defaults(LabelFilter labelFilter, EndpointOptions options, boolean keepsOptions) {}

  /** Creates a loader that has read nothing yet. */
  public StoredEndpoints(
      EndpointStore store,
      Ipam ipam,
      Devices devices,
      EndpointJournal journal,
      IdentityArrival arrival,
      Defaults defaults) {
    this.store = store;
    this.ipam = ipam;
    this.devices = devices;
    this.journal = journal;
    this.arrival = arrival;
    this.defaults = defaults;
  }

  /**
   * Loads every record; a failure of one adds an error and does not affect the others. {@link
   * #closeInvalid} then closes those that are invalid, and adds those without a usable record.
   */
  void load(List<String> errors) {
    final Set<Device> present = Set.copyOf(devices.all());
    for (final EndpointRecord record : store.load()) {
      try {
        enter(record, present, errors);
      } catch (RuntimeException failure) {
        errors.add("endpoint " + record.id() + ": " + failure.getMessage());
        store.invalid(record.id(), String.valueOf(failure.getMessage()));
      }
    }
  }

  /** Closes what is invalid, and adds the endpoints whose records cannot be used, closed, too. */
  CompletableFuture<Void> closeInvalid(
      EndpointProxy datapath,
      PolicyMapProxy policyMaps,
      Ipcache ipcache,
      ConductorAgent conductor,
      List<String> errors) {
    final UnreadableEndpoints entered =
        new UnreadableEndpoints(
            datapath, policyMaps, ipam, devices, journal, arrival, defaults.labelFilter());
    final CompletableFuture<Void> closed = entered.close(invalid, errors);
    final Map<Integer, String> unreadable = store.unreadable();
    if (unreadable.isEmpty()) {
      return closed;
    }
    return closed
        .thenCompose(done -> ipcache.inKernel())
        .thenComposeAsync(
            held -> entered.enter(unreadable, held, conductor::run, errors), conductor::run);
  }

  /** Returns the ids of endpoints whose interface no longer exists. */
  List<Integer> removed() {
    return removed;
  }

  private void enter(EndpointRecord stored, Set<Device> present, List<String> errors) {
    final EndpointRecord record =
        withPresentInterface(withOptions(stored, errors), present, errors);
    if (!isPresent(record, present)) {
      LOGGER.warn(
          "endpoint {}: removed because interface '{}' with index {} no longer exists",
          record.id(),
          record.device().name(),
          record.device().index());
      removed.add(record.id());
      Answers.attempt(errors, () -> store.remove(record.id())); // or at the next start
      ipam.releaseEndpoint(record.id());
      return;
    }
    final LabelDerivation labels = LabelDerivation.of(record, defaults.labelFilter());
    final Endpoint endpoint = journal.restore(record, labels, "restored from the previous run");
    if (!record.configuration().equals(stored.configuration())) {
      endpoint.stored(stored); // the build stores the record with these options
    }
    try {
      arrival.restore(endpoint);
      claim(endpoint);
    } catch (RuntimeException failure) {
      errors.add("endpoint " + record.id() + ": " + failure.getMessage());
      if (endpoint.is(EndpointState.RESTORING)) {
        journal.invalid(endpoint, failure.getMessage());
        invalid.add(endpoint.id());
      }
    }
  }

  /**
   * Replaces options that are not to be kept, and invalid ones so that the endpoint still enforces
   * its policy, by those of a new endpoint.
   */
  private EndpointRecord withOptions(EndpointRecord stored, List<String> errors) {
    if (!defaults.keepsOptions()) {
      return withDefaultOptions(stored);
    }
    try {
      EndpointOptions.defaults().with(stored.configuration().options());
      return stored;
    } catch (RuntimeException failure) {
      errors.add("endpoint " + stored.id() + " has the default options: " + failure.getMessage());
      return withDefaultOptions(stored);
    }
  }

  private EndpointRecord withDefaultOptions(EndpointRecord stored) {
    final DatapathConfiguration wiring = stored.configuration().datapath();
    return stored.withConfiguration(
        new EndpointRecord.Configuration(defaults.options().forWorkload(wiring).toMap(), wiring));
  }

  /**
   * Returns the record with the present interface name: index and MAC address identify an interface
   * that was renamed since the previous run.
   */
  private EndpointRecord withPresentInterface(
      EndpointRecord record, Set<Device> present, List<String> errors) {
    final EndpointDevice former = record.device();
    final Device device = present.stream().filter(former::isIndexAndMacOf).findFirst().orElse(null);
    if (device == null || present.stream().anyMatch(d -> d.name().equals(former.name()))) {
      return record;
    }
    InterfaceName.check("interface-name", device.name());
    LOGGER.warn(
        "endpoint {}: interface '{}' was renamed to '{}'",
        record.id(),
        former.name(),
        device.name());
    final EndpointRecord renamed = record.withDevice(former.at(device));
    Answers.attempt(errors, () -> store.save(renamed)); // the next start finds the new name again
    return renamed;
  }

  private boolean isPresent(EndpointRecord record, Set<Device> present) {
    return present.stream().anyMatch(device -> isOf(record, device))
        || devices.byName(record.device().name()).stream().anyMatch(device -> isOf(record, device));
  }

  private static boolean isOf(EndpointRecord record, Device device) {
    return record.device().isIndexAndMacOf(device) && record.device().isNameAndMacOf(device);
  }

  private void claim(Endpoint endpoint) {
    if (!endpoint.record().configuration().datapath().addressesAreExternal()) {
      for (final IpAddress address : endpoint.addresses()) {
        ipam.reclaim(address, endpoint.id());
      }
    }
  }
}
