package agent.endpoint;

import agent.identity.IdentityAllocator;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Takes an endpoint down: it is gone in the end, whatever went wrong on the way. The workload is
 * cut off before its programs go, so that nothing passes unfiltered.
 */
final class Removal {
  private static final Logger LOGGER = LogManager.getLogger(Removal.class);

  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final PolicyRealization realization;
  private final IpcacheWriter ipcache;
  private final DatapathAnswers answers;

  Removal(
      EndpointContext context,
      EndpointRegistry registry,
      EndpointJournal journal,
      PolicyRealization realization,
      IpcacheWriter ipcache,
      DatapathAnswers answers) {
    this.context = context;
    this.registry = registry;
    this.journal = journal;
    this.realization = realization;
    this.ipcache = ipcache;
    this.answers = answers;
  }

  /**
   * Removes an endpoint.
   *
   * @param endpoint a live endpoint
   * @param why for its log
   * @return what went wrong
   */
  List<String> remove(Endpoint endpoint, String why) {
    final int id = endpoint.id();
    final List<String> errors = new ArrayList<>();
    journal.note(endpoint, EndpointState.DISCONNECTING, why);
    attempt(errors, () -> context.store().remove(id));
    attempt(errors, () -> ipcache.removeEndpoint(endpoint));
    attemptAll(errors, () -> context.routes().remove(endpoint.wantedRoute()));
    attemptAll(
        errors,
        () -> answers.await(context.datapath().detachEndpoint(id), "endpoint " + id + ": detach"));
    endpoint.detached();
    attempt(errors, () -> realization.realize(context.policy().endpointRemoved(id)));
    attempt(errors, () -> releaseIdentities(endpoint));
    attempt(errors, () -> context.ipam().releaseEndpoint(id));
    journal.note(endpoint, EndpointState.DISCONNECTED, "removed");
    registry.remove(endpoint);
    LOGGER.info("endpoint {}: removed: {}{}", id, why, errors.isEmpty() ? "" : "; " + errors);
    return List.copyOf(errors);
  }

  private void releaseIdentities(Endpoint endpoint) {
    final IdentityAllocator identities = context.identities();
    for (final int former : endpoint.takeFormerIdentities()) {
      identities.release(former);
    }
    if (endpoint.identity() != null) {
      identities.release(endpoint.identity().id());
    }
    realization.realize(context.policy().refresh());
  }

  private static void attempt(List<String> errors, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException failure) {
      errors.add(message(failure));
    }
  }

  private static void attemptAll(List<String> errors, Supplier<List<String>> step) {
    try {
      errors.addAll(step.get());
    } catch (RuntimeException failure) {
      errors.add(message(failure));
    }
  }

  private static String message(RuntimeException failure) {
    return failure instanceof Refusal ? failure.getMessage() : failure.toString();
  }
}
