package agent.endpoint.build;

import agent.datapath.manager.spec.EndpointProxy;
import agent.datapath.manager.thread.ConductorAgent;
import agent.datapath.manager.thread.StepSequence;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointStore;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.WorkloadRoutes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Removes an endpoint and continues after failed steps. Sets the interface down before it detaches
 * the programs, so that no packet passes unfiltered. Runs on the conductor's thread.
 */
public final class EndpointRemoval {
  private static final Logger LOGGER = LogManager.getLogger(EndpointRemoval.class);

  /**
   * The owners of the resources of an endpoint.
   *
   * @param store keeps its record
   * @param ipam leases its addresses
   * @param ipcache holds its ipcache entries
   * @param routes holds the routes to it
   * @param datapath holds its programs, links and maps
   */
  public record Owners(
      EndpointStore store,
      Ipam ipam,
      Ipcache ipcache,
      WorkloadRoutes routes,
      EndpointProxy datapath) {}

  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointPolicies policies;
  private final Owners owners;

  /** Creates a removal. */
  public EndpointRemoval(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointPolicies policies,
      Owners owners) {
    this.conductor = conductor;
    this.registry = registry;
    this.journal = journal;
    this.policies = policies;
    this.owners = owners;
  }

  /**
   * Removes an endpoint; part of an operation on the endpoint.
   *
   * @param endpoint a live endpoint
   * @param why the reason, for the log
   * @return the errors of the steps that failed
   */
  public CompletableFuture<List<String>> remove(Endpoint endpoint, String why) {
    final int id = endpoint.id();
    final List<String> errors = new ArrayList<>();
    final CompletableFuture<List<String>> result = new CompletableFuture<>();
    journal.note(endpoint, EndpointState.DISCONNECTING, why);
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .then(() -> Answers.attempt(errors, () -> owners.store().remove(id)))
            .thenAwait(
                () ->
                    Answers.settled(errors, owners.ipcache().removeEndpoint(endpoint.addresses())))
            .then(
                () ->
                    Answers.attempt(
                        errors,
                        () -> errors.addAll(owners.routes().remove(endpoint.wantedRoute()))))
            .thenAwait(
                () ->
                    Answers.settled(
                        errors,
                        Answers.named("endpoint " + id + ": detach", owners.datapath().detach(id))
                            .thenAccept(errors::addAll)))
            .then(endpoint::detached)
            .thenAwait(() -> Answers.settled(errors, policies.remove(endpoint)))
            .then(
                () -> {
                  policies.releaseIdentities(endpoint);
                  Answers.attempt(errors, () -> owners.ipam().releaseEndpoint(id));
                  journal.note(endpoint, EndpointState.DISCONNECTED, "removed");
                  registry.remove(endpoint);
                })
            .onDone(
                () -> {
                  LOGGER.info(
                      "endpoint {}: removed: {}{}", id, why, errors.isEmpty() ? "" : "; " + errors);
                  result.complete(List.copyOf(errors));
                })
            .onFailure(result::completeExceptionally));
    return result;
  }
}
