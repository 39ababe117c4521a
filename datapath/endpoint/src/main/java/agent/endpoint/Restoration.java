package agent.endpoint;

import agent.datapath.manager.spec.PolicyMapDelta;
import agent.identity.Identity;
import agent.ipam.Lease;
import agent.node.Device;
import agent.node.InterfaceName;
import agent.policy.EndpointPolicyChange;
import agent.policy.PolicyUpdate;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Takes endpoints up that an earlier life of the agent left. What the kernel enforces meanwhile
 * goes on: policy maps first gain what is wanted, then the ipcache is compared, then the maps lose
 * what is not wanted, and programs are replaced in place.
 */
final class Restoration {
  private static final Logger LOGGER = LogManager.getLogger(Restoration.class);

  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final IpcacheWriter ipcache;
  private final DatapathAnswers answers;
  private final List<Integer> removed = new ArrayList<>();
  private final List<String> errors = new ArrayList<>();
  private final Map<Endpoint, Refusal> failed = new LinkedHashMap<>();

  Restoration(
      EndpointContext context,
      EndpointRegistry registry,
      EndpointJournal journal,
      IpcacheWriter ipcache,
      DatapathAnswers answers) {
    this.context = context;
    this.registry = registry;
    this.journal = journal;
    this.ipcache = ipcache;
    this.answers = answers;
  }

  RestoreReport restore() {
    final Set<Device> devices = Set.copyOf(context.devices().all());
    for (final EndpointRecord record : context.store().load()) {
      try {
        takeUp(record, devices);
      } catch (RuntimeException failure) {
        // Its programs go with forgetOthers; the record stays where it is, to be looked at.
        errors.add("endpoint " + record.id() + " is not taken up: " + failure.getMessage());
        registry.forget(record.id());
      }
    }
    final List<Endpoint> endpoints =
        registry.all().stream().filter(endpoint -> !endpoint.is(EndpointState.INVALID)).toList();
    resolve(endpoints);
    enforce(endpoints);
    forgetOthers();
    final List<Integer> restored = new ArrayList<>();
    for (final Endpoint endpoint : endpoints) {
      final Refusal failure = failed.get(endpoint);
      if (failure == null) {
        journal.succeeded(endpoint, "restored, policy revision " + endpoint.realizedRevision());
        restored.add(endpoint.id());
      } else {
        journal.failed(endpoint, failure);
      }
    }
    final List<Integer> failedIds = failed.keySet().stream().map(Endpoint::id).sorted().toList();
    LOGGER.info(
        "endpoints: {} restored, {} failed, {} removed",
        restored.size(),
        failedIds.size(),
        removed.size());
    errors.forEach(error -> LOGGER.warn("restore: {}", error));
    return new RestoreReport(restored, failedIds, List.copyOf(removed), List.copyOf(errors));
  }

  private void takeUp(EndpointRecord stored, Set<Device> devices) {
    final EndpointRecord record = onItsInterface(withUsableOptions(stored), devices);
    if (!isPresent(record, devices)) {
      LOGGER.warn(
          "endpoint {}: interface '{}' with index {} is gone: removed",
          record.id(),
          record.interfaceName(),
          record.interfaceIndex());
      removed.add(record.id());
      context.store().remove(record.id());
      context.ipam().releaseEndpoint(record.id());
      return;
    }
    final LabelDerivation labels = LabelDerivation.of(record, context.labelFilter());
    final Endpoint endpoint =
        new Endpoint(
            record,
            labels,
            new RegenerationController(record.id(), context.retryBase(), context.retryMax()));
    endpoint.transition(
        EndpointState.RESTORING, "taken up after a restart", context.clock().instant());
    registry.add(endpoint);
    try {
      identify(endpoint);
      claim(endpoint);
    } catch (RuntimeException failure) {
      errors.add("endpoint " + record.id() + ": " + failure.getMessage());
      journal.invalid(endpoint, failure.getMessage());
    }
  }

  /** For the sake of an option nobody is cut off: it gets those of a new endpoint. */
  private EndpointRecord withUsableOptions(EndpointRecord stored) {
    try {
      EndpointOptions.defaults().with(stored.options());
      return stored;
    } catch (RuntimeException unusable) {
      errors.add("endpoint " + stored.id() + " has the default options: " + unusable.getMessage());
      return stored.withOptions(context.defaultOptions().toMap(), stored.datapathConfiguration());
    }
  }

  /** An interface that was given another name meanwhile is told by its index and its address. */
  private EndpointRecord onItsInterface(EndpointRecord record, Set<Device> devices) {
    final Optional<Device> device =
        devices.stream().filter(d -> d.index() == record.interfaceIndex()).findFirst();
    if (device.isEmpty()
        || device.get().name().equals(record.interfaceName())
        || !device.get().isVeth()
        || !record.hostMac().equals(device.get().mac())
        || devices.stream().anyMatch(d -> d.name().equals(record.interfaceName()))) {
      return record;
    }
    final String name = InterfaceName.check("interface-name", device.get().name());
    LOGGER.warn(
        "endpoint {}: interface '{}' is called '{}' now",
        record.id(),
        record.interfaceName(),
        name);
    final EndpointRecord renamed =
        record.withInterface(name, device.get().index(), record.mac(), record.hostMac());
    context.store().save(renamed);
    return renamed;
  }

  private boolean isPresent(EndpointRecord record, Set<Device> devices) {
    return devices.stream().anyMatch(device -> isOf(record, device))
        || context.devices().byName(record.interfaceName()).stream()
            .anyMatch(device -> isOf(record, device));
  }

  private static boolean isOf(EndpointRecord record, Device device) {
    return device.index() == record.interfaceIndex()
        && device.name().equals(record.interfaceName());
  }

  private void identify(Endpoint endpoint) {
    final EndpointRecord record = endpoint.record();
    Identity identity;
    try {
      identity = context.identities().restore(record.identity(), endpoint.labels().identity());
    } catch (Refusal refusal) {
      // The filter of labels may be another one since, or the number be given away.
      LOGGER.warn("endpoint {}: {}: gets another identity", endpoint.id(), refusal.getMessage());
      identity = context.identities().acquire(endpoint.labels().identity());
    }
    endpoint.identify(identity);
    if (identity.id() != record.identity()) {
      final EndpointRecord changed = record.withIdentity(identity.id());
      context.store().save(changed);
      endpoint.change(changed, endpoint.labels());
    }
  }

  private void claim(Endpoint endpoint) {
    if (!endpoint.record().datapathConfiguration().addressesAreExternal()) {
      for (final IpAddress address : endpoint.wantedRoute().addresses()) {
        context.ipam().claim("addressing", address, endpoint.id(), null, null);
      }
    }
  }

  private void resolve(List<Endpoint> endpoints) {
    for (final Endpoint endpoint : endpoints) {
      journal.note(
          endpoint,
          EndpointState.WAITING_TO_REGENERATE,
          "identity " + endpoint.identity().id() + " " + endpoint.identity().labels());
      journal.note(endpoint, EndpointState.REGENERATING, "restoring");
      try {
        context.policy().endpointSet(endpoint.id(), endpoint.identity());
      } catch (Refusal refusal) {
        failed.put(endpoint, refusal);
      }
    }
    final PolicyUpdate rest = context.policy().refresh();
    for (final EndpointPolicyChange change : rest.endpoints()) {
      LOGGER.debug("endpoint {}: policy resolved again", change.endpointId());
    }
    for (final Endpoint endpoint : endpoints) {
      context.policy().policyOf(endpoint.id()).ifPresent(endpoint::resolved);
    }
  }

  private void enforce(List<Endpoint> endpoints) {
    final Set<Integer> known =
        answers.await(context.datapath().knownEndpoints(), "endpoints of the datapath");
    each(
        endpoints,
        "policy map gains",
        endpoint ->
            known.contains(endpoint.id())
                ? context
                    .datapath()
                    .applyPolicy(
                        endpoint.id(),
                        new PolicyMapDelta(
                            PolicyMapWrites.entries(endpoint.policy().entries()), List.of()))
                : CompletableFuture.completedFuture(null));
    try {
      ipcache.restore(
          endpoints, context.policy().cidrIdentities(), context.localAddresses().reachable());
    } catch (Refusal refusal) {
      errors.add(refusal.getMessage());
    }
    each(
        endpoints,
        "policy map",
        endpoint ->
            context
                .datapath()
                .synchronizePolicy(
                    endpoint.id(), PolicyMapWrites.entries(endpoint.policy().entries())),
        endpoint -> endpoint.realized(endpoint.policy(), true));
    each(
        endpoints,
        "attach",
        endpoint -> context.datapath().attachEndpoint(endpoint.spec()),
        endpoint -> endpoint.attached(endpoint.spec()));
    routes(endpoints);
  }

  private void each(
      List<Endpoint> endpoints, String what, Function<Endpoint, CompletableFuture<?>> step) {
    each(endpoints, what, step, endpoint -> {});
  }

  /** Asks for all before the first answer is waited for. */
  private void each(
      List<Endpoint> endpoints,
      String what,
      Function<Endpoint, CompletableFuture<?>> step,
      Consumer<Endpoint> done) {
    final Map<Endpoint, CompletableFuture<?>> asked = new LinkedHashMap<>();
    for (final Endpoint endpoint : endpoints) {
      if (!failed.containsKey(endpoint)) {
        asked.put(endpoint, step.apply(endpoint));
      }
    }
    asked.forEach(
        (endpoint, answer) -> {
          try {
            answers.await(answer, "endpoint " + endpoint.id() + ": " + what);
            done.accept(endpoint);
          } catch (Refusal refusal) {
            failed.put(endpoint, refusal);
          }
        });
  }

  private void routes(List<Endpoint> endpoints) {
    final List<Endpoint> routed =
        endpoints.stream()
            .filter(endpoint -> endpoint.record().datapathConfiguration().routed())
            .toList();
    final List<String> problems =
        context.routes().synchronize(routed.stream().map(Endpoint::wantedRoute).toList());
    errors.addAll(problems);
    if (problems.isEmpty()) {
      routed.forEach(endpoint -> endpoint.route(endpoint.wantedRoute()));
    }
  }

  /** What the datapath and the address pools hold for endpoints that are not there any more. */
  private void forgetOthers() {
    final Set<Integer> kept = new TreeSet<>();
    registry.all().forEach(endpoint -> kept.add(endpoint.id()));
    try {
      cutOffExcept(kept);
      errors.addAll(
          answers.await(context.datapath().forgetEndpointsExcept(kept), "forget endpoints"));
    } catch (Refusal refusal) {
      errors.add(refusal.getMessage());
    }
    final Map<Integer, List<Prefix>> orphans = new HashMap<>();
    for (final Lease lease : context.ipam().leases()) {
      if (lease.endpointId() != 0 && !kept.contains(lease.endpointId())) {
        orphans
            .computeIfAbsent(lease.endpointId(), id -> new ArrayList<>())
            .add(Prefix.of(lease.address()));
      }
    }
    orphans.forEach(
        (id, addresses) -> {
          LOGGER.warn("endpoint {} is not there: {} go back", id, addresses);
          context.ipam().releaseEndpoint(id);
        });
  }

  /** A workload whose endpoint was lost would be without policy when its programs go. */
  private void cutOffExcept(Set<Integer> kept) {
    for (final int id : answers.await(context.datapath().knownEndpoints(), "known endpoints")) {
      if (!kept.contains(id)) {
        final int index = answers.await(context.datapath().interfaceOf(id), "interface of " + id);
        final Optional<Device> device = context.devices().byIndex(index);
        final boolean isTaken =
            registry.all().stream().anyMatch(e -> e.record().interfaceIndex() == index);
        if (device.isPresent() && device.get().isVeth() && !isTaken) {
          LOGGER.warn("endpoint {} is forgotten: '{}' goes down", id, device.get().name());
          errors.addAll(
              context.routes().cutOff(InterfaceName.check("interface", device.get().name())));
        }
      }
    }
  }
}
