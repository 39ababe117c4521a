package agent.endpoint;

import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.policy.EndpointPolicyChange;
import agent.policy.PolicyUpdate;
import agent.types.Refusal;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/**
 * Carries updates of the policy out, for all endpoints together, in an order in which no packet
 * meets an identity that the policy maps do not know, and none that is allowed before and after is
 * dropped in between: what maps gain, CIDRs that appeared, what maps lose, CIDRs that went, what
 * maps still know of those.
 */
final class PolicyRealization {
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final DatapathProxy datapath;
  private final DatapathAnswers answers;
  private final IpcacheWriter ipcache;

  PolicyRealization(
      EndpointRegistry registry,
      EndpointJournal journal,
      DatapathProxy datapath,
      DatapathAnswers answers,
      IpcacheWriter ipcache) {
    this.registry = registry;
    this.journal = journal;
    this.datapath = datapath;
    this.answers = answers;
    this.ipcache = ipcache;
  }

  /**
   * Carries one update out. An endpoint that cannot follow is not ready afterwards and tried again;
   * the others follow all the same.
   *
   * @param update from the policy engine
   * @throws Refusal where the ipcache could not be written; it is compared whole before the next
   *     write
   */
  void realize(PolicyUpdate update) {
    final Map<Endpoint, Refusal> failed = new LinkedHashMap<>();
    final Set<Endpoint> building = begin(update);
    update
        .failures()
        .forEach(
            (id, refusal) -> {
              if (registry.find(id) != null) {
                failed.put(registry.find(id), refusal);
              }
            });
    Refusal ipcacheFailure = null;
    try {
      if (update.cidrsAdded().isEmpty()) {
        write(update.endpoints(), UnaryOperator.identity(), failed);
      } else {
        write(update.endpoints(), d -> new PolicyMapDelta(d.upserts(), List.of()), failed);
        ipcache.putCidrs(update.cidrsAdded());
        write(update.endpoints(), d -> new PolicyMapDelta(List.of(), d.deletes()), failed);
      }
      if (!update.cidrsRemoved().isEmpty()) {
        ipcache.removeCidrs(update.cidrsRemoved());
      }
    } catch (Refusal refusal) {
      ipcacheFailure = refusal;
      write(update.endpoints(), UnaryOperator.identity(), failed);
    }
    write(update.cleanups(), UnaryOperator.identity(), failed);
    end(update, building, failed);
    if (ipcacheFailure != null) {
      throw ipcacheFailure;
    }
  }

  /** The endpoints whose maps change go through a build, unless they are in one. */
  private Set<Endpoint> begin(PolicyUpdate update) {
    final Set<Endpoint> building = new HashSet<>();
    for (final EndpointPolicyChange change : update.endpoints()) {
      final Endpoint endpoint = registry.find(change.endpointId());
      if (endpoint != null && endpoint.is(EndpointState.READY) && !change.diff().isEmpty()) {
        journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "policy changed");
        journal.note(
            endpoint,
            EndpointState.REGENERATING,
            "%d policy entries to write, %d to delete"
                .formatted(change.diff().upserts().size(), change.diff().deletes().size()));
        building.add(endpoint);
      }
    }
    return building;
  }

  private void write(
      List<EndpointPolicyChange> changes,
      UnaryOperator<PolicyMapDelta> part,
      Map<Endpoint, Refusal> failed) {
    final Map<Endpoint, CompletableFuture<Void>> asked = new LinkedHashMap<>();
    for (final EndpointPolicyChange change : changes) {
      final Endpoint endpoint = registry.find(change.endpointId());
      if (endpoint != null) {
        endpoint.resolved(change.policy());
        final PolicyMapDelta delta = part.apply(PolicyMapWrites.delta(change.diff()));
        if (endpoint.isPolicyMapTrusted() && !delta.isEmpty()) {
          asked.put(endpoint, datapath.applyPolicy(endpoint.id(), delta));
        }
      }
    }
    asked.forEach(
        (endpoint, answer) -> {
          try {
            answers.await(answer, "endpoint " + endpoint.id() + ": policy map");
          } catch (Refusal refusal) {
            endpoint.distrustPolicyMap();
            failed.put(endpoint, refusal);
          }
        });
  }

  private void end(PolicyUpdate update, Set<Endpoint> building, Map<Endpoint, Refusal> failed) {
    final Map<Endpoint, Boolean> changed = new HashMap<>();
    for (final List<EndpointPolicyChange> list : List.of(update.endpoints(), update.cleanups())) {
      for (final EndpointPolicyChange change : list) {
        final Endpoint endpoint = registry.find(change.endpointId());
        if (endpoint != null && endpoint.isPolicyMapTrusted()) {
          endpoint.realized(change.policy(), !change.diff().isEmpty());
          changed.merge(endpoint, !change.diff().isEmpty(), Boolean::logicalOr);
        }
      }
    }
    failed.forEach((endpoint, refusal) -> fail(endpoint, refusal, building.remove(endpoint)));
    for (final Endpoint endpoint : building) {
      journal.succeeded(endpoint, "policy revision " + update.revision());
    }
    for (final Endpoint endpoint : registry.all()) {
      final boolean behind = endpoint.realizedRevision() < update.revision();
      if (endpoint.isPolicyMapTrusted() && !failed.containsKey(endpoint) && behind) {
        endpoint.realizedRevision(update.revision());
        registry.publish(endpoint);
      } else if (changed.containsKey(endpoint) || building.contains(endpoint)) {
        registry.publish(endpoint);
      }
    }
  }

  /** An endpoint that is being built by somebody else finds its map distrusted. */
  private void fail(Endpoint endpoint, Refusal refusal, boolean building) {
    if (!building && endpoint.is(EndpointState.READY)) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "policy changed");
      journal.note(endpoint, EndpointState.REGENERATING, "policy cannot follow");
    }
    if (building || endpoint.is(EndpointState.REGENERATING) && !journal.isBuilding(endpoint)) {
      journal.failed(endpoint, refusal);
    }
  }
}
