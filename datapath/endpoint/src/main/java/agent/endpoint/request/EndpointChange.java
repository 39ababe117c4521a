package agent.endpoint.request;

import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.state.LabelDerivation;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Checks and stores changes of an endpoint. Where the change requires it, the endpoint then waits
 * for its new identity or for its build. Runs on the conductor's thread, within an operation on the
 * endpoint.
 */
public final class EndpointChange {
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointStore store;
  private final IdentityArrival arrival;
  private final RequestReader reader;
  private final LabelFilter labelFilter;

  /** Creates changes of the endpoints of the registry. */
  public EndpointChange(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointStore store,
      IdentityArrival arrival,
      RequestReader reader,
      LabelFilter labelFilter) {
    this.registry = registry;
    this.journal = journal;
    this.store = store;
    this.arrival = arrival;
    this.reader = reader;
    this.labelFilter = labelFilter;
  }

  /** Applies PATCH of an endpoint. */
  public void modify(Endpoint endpoint, EndpointRequest request) {
    checkMutable(endpoint);
    final EndpointRecord after = reader.modified(endpoint.record(), request);
    registry.all().forEach(other -> EndpointCreation.checkInterface(after, other));
    final boolean asksForBuild =
        EndpointState.parse("state", request.state()) == EndpointState.WAITING_TO_REGENERATE;
    store(endpoint, after, asksForBuild);
  }

  /** Applies PATCH of the configuration; null does not change the options, or the user labels. */
  public void configure(Endpoint endpoint, Map<String, String> options, List<String> user) {
    checkMutable(endpoint);
    EndpointRecord after = endpoint.record();
    if (options != null) {
      final EndpointOptions changed =
          EndpointOptions.defaults().with(after.configuration().options()).with(options);
      after =
          after.withConfiguration(
              new EndpointRecord.Configuration(changed.toMap(), after.configuration().datapath()));
    }
    if (user != null) {
      after = withUserLabels(after, "label-configuration.user", user);
    }
    store(endpoint, after, options != null);
  }

  /** Applies PATCH of the user labels. */
  public void relabel(Endpoint endpoint, List<String> user) {
    checkMutable(endpoint);
    store(endpoint, withUserLabels(endpoint.record(), "user", user), false);
  }

  private static EndpointRecord withUserLabels(
      EndpointRecord record, String field, List<String> user) {
    return record.withLabels(
        new EndpointRecord.LabelSources(
            record.labels().derived(), RequestReader.labels(field, user)));
  }

  private static void checkMutable(Endpoint endpoint) {
    if (endpoint.is(EndpointState.INVALID)) {
      throw Refusal.conflict(
          "id", "endpoint " + endpoint.id() + " is invalid and can only be deleted");
    }
  }

  /**
   * Stores the change, acquires the identity of the new labels, and marks the endpoint for a build
   * if one is needed.
   */
  private void store(Endpoint endpoint, EndpointRecord after, boolean buildAlways) {
    final LabelDerivation labels = LabelDerivation.of(after, labelFilter);
    final boolean isRebuilt = buildAlways || !isBuiltAs(endpoint.record(), after);
    if (isSame(labels.identity(), endpoint.identity())) {
      keepIdentity(endpoint, after, labels, isRebuilt);
    } else {
      changeIdentity(endpoint, after, labels);
    }
    if (isRebuilt && (endpoint.is(EndpointState.READY) || endpoint.is(EndpointState.NOT_READY))) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "configuration changed");
    }
  }

  private void keepIdentity(
      Endpoint endpoint, EndpointRecord after, LabelDerivation labels, boolean isRebuilt) {
    final boolean isRelabelled = !labels.equals(endpoint.labels());
    final EndpointRecord record = after.withIdentity(endpoint.identity().id());
    store.save(record);
    endpoint.change(record, labels);
    if (endpoint.is(EndpointState.WAITING_FOR_IDENTITY)) {
      // The labels match the current identity again: the pending one is released when it arrives.
      endpoint.await(null);
      journal.note(
          endpoint,
          EndpointState.WAITING_TO_REGENERATE,
          "identity " + endpoint.identity().id() + " unchanged");
    } else if (isRelabelled && endpoint.is(EndpointState.READY) && !isRebuilt) {
      journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "labels changed");
      journal.note(
          endpoint, EndpointState.READY, "identity " + endpoint.identity().id() + " unchanged");
    }
  }

  private void changeIdentity(Endpoint endpoint, EndpointRecord after, LabelDerivation labels) {
    final CompletableFuture<Identity> next = arrival.ask(labels.identity());
    final EndpointRecord record = after.withIdentity(IdentityArrival.numberOf(next));
    try {
      store.save(record);
    } catch (RuntimeException failure) {
      arrival.abandon(next);
      throw failure;
    }
    endpoint.change(record, labels);
    if (!endpoint.is(EndpointState.WAITING_FOR_IDENTITY)) {
      journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "labels changed");
    }
    arrival.await(endpoint, next);
  }

  private static boolean isSame(LabelSet labels, Identity identity) {
    final LabelSet wanted = labels.isEmpty() ? ReservedIdentity.INIT.identity().labels() : labels;
    return identity != null && wanted.equals(identity.labels());
  }

  /** Returns whether both records need the same programs and options, whatever their identities. */
  private static boolean isBuiltAs(EndpointRecord one, EndpointRecord other) {
    return one.device().equals(other.device()) && one.configuration().equals(other.configuration());
  }
}
