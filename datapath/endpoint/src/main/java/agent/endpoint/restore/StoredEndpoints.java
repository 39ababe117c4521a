package agent.endpoint.restore;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.PolicyMapProxy;
import agent.endpoint.build.Answers;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.LabelDerivation;
import agent.endpoint.state.MutableOption;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.Devices;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * Loads the records of the previous run into the registry: finds the interface of each, replaces
 * invalid options by the defaults, and restores its identity and addresses.
 */
public final class StoredEndpoints {
  private final EndpointRecordWriter stored;
  private final Ipam ipam;
  private final Devices devices;
  private final EndpointJournal journal;
  private final IdentityArrival arrival;
  private final Defaults defaults;
  private final StoredInterfaces interfaces;
  private List<EndpointRecord> records = List.of();
  private final List<Integer> removed = new ArrayList<>();
  private final List<Integer> invalid = new ArrayList<>();

  /**
   * The options of this run that affect stored endpoints.
   *
   * @param labelFilter the filter of identity-relevant labels
   * @param options the options of a new endpoint
   * @param beingSet the names of those that all endpoints get: the previous run ended while it set
   *     them
   * @param keepsOptions whether endpoints keep their own options; if not, they get those of a new
   *     one
   * @param keepsConntrack whether they keep whether they track connections, at least: what they
   *     should have is not known, and connections are open
   */
  public record Defaults(
      LabelFilter labelFilter,
      EndpointOptions options,
      Set<String> beingSet,
      boolean keepsOptions,
      boolean keepsConntrack) {}

  /** Creates a loader that has read nothing yet. */
  public StoredEndpoints(
      EndpointRecordWriter stored,
      Ipam ipam,
      Devices devices,
      EndpointJournal journal,
      IdentityArrival arrival,
      Defaults defaults) {
    this.stored = stored;
    this.ipam = ipam;
    this.devices = devices;
    this.journal = journal;
    this.arrival = arrival;
    this.defaults = defaults;
    interfaces = new StoredInterfaces(devices);
  }

  /**
   * Reads the records and the interfaces that they name; {@link #load} follows.
   *
   * @param known the ids of endpoints of which the kernel has something
   */
  CompletableFuture<Void> find(
      EndpointAttachmentProxy datapath,
      Set<Integer> known,
      ConductorAgent conductor,
      List<String> errors) {
    records = stored.store().load();
    stored.store().missed(() -> withLeases(known));
    return interfaces.find(records, known, datapath, conductor::run, errors);
  }

  /** Returns the endpoints that the kernel knows, and those that have addresses. */
  private Set<Integer> withLeases(Set<Integer> known) {
    final Set<Integer> all = new TreeSet<>(known);
    ipam.leases().forEach(lease -> all.add(lease.endpointId())); // 0 where no endpoint has it
    return all;
  }

  /**
   * Loads every record; a failure of one adds an error and does not affect the others. {@link
   * #closeInvalid} then closes those that are invalid, and adds those without a usable record.
   *
   * @return completes when what has changed is stored
   */
  CompletableFuture<Void> load(List<String> errors) {
    final List<CompletableFuture<Void>> writes = new ArrayList<>();
    for (final EndpointRecord record : records) {
      try {
        enter(record, writes, errors);
      } catch (RuntimeException failure) {
        errors.add("endpoint " + record.id() + ": " + failure.getMessage());
        stored.store().invalid(record.id(), String.valueOf(failure.getMessage()));
      }
    }
    return CompletableFuture.allOf(writes.toArray(CompletableFuture<?>[]::new));
  }

  /** Closes what is invalid, and adds the endpoints whose records cannot be used, closed, too. */
  CompletableFuture<Void> closeInvalid(
      EndpointAttachmentProxy datapath,
      PolicyMapProxy policyMaps,
      Ipcache ipcache,
      ConductorAgent conductor,
      List<String> errors) {
    final UnreadableEndpoints entered =
        new UnreadableEndpoints(
            datapath, policyMaps, ipam, devices, journal, arrival, defaults.labelFilter());
    final CompletableFuture<Void> closed = entered.close(invalid, errors);
    final Map<Integer, String> unreadable = stored.store().unreadable();
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

  private void enter(
      EndpointRecord known, List<CompletableFuture<Void>> writes, List<String> errors) {
    final Optional<EndpointRecord> present = interfaces.present(known);
    if (present.isEmpty()) {
      removed.add(known.id());
      writes.add(Answers.settled(errors, stored.remove(known.id()))); // or at the next start
      ipam.releaseEndpoint(known.id());
      return;
    }
    final EndpointRecord found = present.get();
    if (!found.device().equals(known.device())) {
      writes.add(Answers.settled(errors, stored.save(found))); // or the next start finds it
    }
    final EndpointRecord record = withOptions(found, errors);
    final LabelDerivation labels = LabelDerivation.of(record, defaults.labelFilter());
    final Endpoint endpoint = journal.restore(record, labels, "restored from the previous run");
    if (!record.configuration().equals(found.configuration())) {
      endpoint.stored(found); // the build stores the record with these options
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
   * Replaces options that are not to be kept, those that were being set on all endpoints, and
   * invalid ones so that the endpoint still enforces its policy, by those of a new endpoint.
   */
  private EndpointRecord withOptions(EndpointRecord stored, List<String> errors) {
    if (!defaults.keepsOptions()) {
      return withDefaultOptions(stored);
    }
    try {
      EndpointOptions.defaults().with(stored.configuration().options());
      return withOptionsBeingSet(stored);
    } catch (RuntimeException failure) {
      errors.add("endpoint " + stored.id() + " has the default options: " + failure.getMessage());
      return withDefaultOptions(stored);
    }
  }

  private EndpointRecord withOptionsBeingSet(EndpointRecord stored) {
    if (defaults.beingSet().isEmpty()) {
      return stored;
    }
    final DatapathConfiguration wiring = stored.configuration().datapath();
    final Map<String, String> options = new LinkedHashMap<>(stored.configuration().options());
    final Map<String, String> wanted = defaults.options().forWorkload(wiring).toMap();
    defaults.beingSet().forEach(name -> options.put(name, wanted.get(name)));
    return stored.withConfiguration(new EndpointRecord.Configuration(options, wiring));
  }

  private EndpointRecord withDefaultOptions(EndpointRecord stored) {
    final DatapathConfiguration wiring = stored.configuration().datapath();
    final String tracked =
        stored.configuration().options().get(MutableOption.CONNTRACK.optionName());
    EndpointOptions options = defaults.options().forWorkload(wiring);
    if (defaults.keepsConntrack() && MutableOption.ENABLED.equals(tracked)) {
      options = options.with(MutableOption.CONNTRACK, tracked);
    }
    return stored.withConfiguration(new EndpointRecord.Configuration(options.toMap(), wiring));
  }

  private void claim(Endpoint endpoint) {
    if (!endpoint.record().configuration().datapath().addressesAreExternal()) {
      for (final IpAddress address : endpoint.addresses()) {
        ipam.reclaim(address, endpoint.id());
      }
    }
  }
}
