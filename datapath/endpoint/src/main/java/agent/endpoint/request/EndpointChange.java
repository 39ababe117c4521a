package agent.endpoint.request;

import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.LabelDerivation;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Checks changes of an endpoint, has them stored, applies them to it and undoes them. Where the
 * change requires it, the endpoint then waits for its new identity or for its build. Runs on the
 * conductor's thread, within an operation on the endpoint.
 */
public final class EndpointChange {
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointRecordWriter records;
  private final IdentityArrival arrival;
  private final RequestReader reader;
  private final LabelFilter labelFilter;

  /**
   * A change that is applied to an endpoint.
   *
   * @param before the record before the change
   * @param after the record with the change
   */
  public record Applied(EndpointRecord before, EndpointRecord after) {
    /** Returns whether the change moves the endpoint to another interface. */
    public boolean moves() {
      return before.device().index() != after.device().index();
    }
  }

  /** When a change that needs a build is stored. */
  public enum Commit {
    /** Before the build: the caller is answered before it, and a failed build is repeated. */
    BEFORE_BUILD,
    /** By the build, as its last step: the caller is answered after it, and a failure is undone. */
    BY_BUILD
  }

  /** Creates changes of the endpoints of the registry. */
  public EndpointChange(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointRecordWriter records,
      IdentityArrival arrival,
      RequestReader reader,
      LabelFilter labelFilter) {
    this.registry = registry;
    this.journal = journal;
    this.records = records;
    this.arrival = arrival;
    this.reader = reader;
    this.labelFilter = labelFilter;
  }

  /** Applies PATCH of an endpoint. */
  public CompletableFuture<Applied> modify(
      Endpoint endpoint, EndpointRequest request, Commit commit) {
    checkMutable(endpoint);
    final EndpointRecord after = reader.modified(endpoint.record(), request);
    registry.records().forEach(other -> EndpointCreation.checkInterface(after, other));
    return apply(endpoint, after, false, commit);
  }

  /** Applies PATCH of the configuration; null does not change the options, or the user labels. */
  public CompletableFuture<Applied> configure(
      Endpoint endpoint, Map<String, String> options, List<String> user) {
    checkMutable(endpoint);
    EndpointRecord after = endpoint.record();
    if (options != null) {
      after = withOptions(after, options);
    }
    if (user != null) {
      after = withUserLabels(after, "label-configuration.user", user);
    }
    return apply(endpoint, after, options != null, Commit.BY_BUILD);
  }

  /** Sets options of an endpoint that a later run may build; {@link #save} stores them. */
  public void setForLaterRun(Endpoint endpoint, Map<String, String> options) {
    endpoint.change(withOptions(endpoint.record(), options), endpoint.labels());
    registry.publish(endpoint);
  }

  private static EndpointRecord withOptions(EndpointRecord record, Map<String, String> options) {
    final EndpointOptions changed =
        EndpointOptions.defaults().with(record.configuration().options()).with(options);
    return record.withConfiguration(
        new EndpointRecord.Configuration(changed.toMap(), record.configuration().datapath()));
  }

  /** Stores the record of an endpoint that the store does not hold as it is. */
  public CompletableFuture<Void> save(Endpoint endpoint) {
    return endpoint.isLive() && !endpoint.isStored()
        ? written(endpoint, endpoint.record(), false)
        : CompletableFuture.completedFuture(null);
  }

  /** Applies PATCH of the user labels. */
  public CompletableFuture<Applied> relabel(Endpoint endpoint, List<String> user) {
    checkMutable(endpoint);
    return apply(endpoint, withUserLabels(endpoint.record(), "user", user), false, Commit.BY_BUILD);
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
    if (!endpoint.isLive()) {
      throw Refusal.conflict("id", "endpoint " + endpoint.id() + " is being deleted");
    }
  }

  /**
   * Applies the change to the endpoint, acquires the identity of the new labels, and marks the
   * endpoint for a build if one is needed. It is stored first, unless the build stores it: then a
   * store that is known to be out of order refuses the change before the kernel is changed. Where
   * it fails, nothing has changed.
   */
  private CompletableFuture<Applied> apply(
      Endpoint endpoint, EndpointRecord after, boolean buildAlways, Commit commit) {
    final boolean isRebuilt = buildAlways || !isBuiltAs(endpoint.record(), after);
    final LabelDerivation labels = LabelDerivation.of(after, labelFilter);
    if (isSame(labels.identity(), endpoint.identity())) {
      final EndpointRecord record = after.withIdentity(endpoint.identity().id());
      return written(endpoint, record, commit == Commit.BY_BUILD && isRebuilt)
          .thenCompose(
              done ->
                  isSame(labels.identity(), endpoint.identity())
                      ? completed(keepIdentity(endpoint, after, isRebuilt))
                      : apply(endpoint, after, buildAlways, commit)); // another one has arrived
    }
    final CompletableFuture<Identity> next = arrival.ask(labels.identity());
    final EndpointRecord record = after.withIdentity(IdentityArrival.numberOf(next));
    return written(endpoint, record, commit == Commit.BY_BUILD)
        .handle((done, failure) -> failure)
        .thenCompose(
            failure -> {
              if (failure == null) {
                return completed(changeIdentity(endpoint, after, next, isRebuilt));
              }
              arrival.abandon(next);
              return CompletableFuture.failedFuture(failure);
            });
  }

  private static CompletableFuture<Applied> completed(Applied applied) {
    return CompletableFuture.completedFuture(applied);
  }

  /** Returns when the record is stored, or may be changed although the build stores it. */
  private CompletableFuture<Void> written(
      Endpoint endpoint, EndpointRecord record, boolean isStoredByBuild) {
    if (!isStoredByBuild) {
      return records.save(record).thenRun(() -> endpoint.stored(record));
    }
    return records.isFailing() && endpoint.storedRecord() != null
        ? records.checkWritable(endpoint.storedRecord())
        : CompletableFuture.completedFuture(null);
  }

  private Applied keepIdentity(Endpoint endpoint, EndpointRecord after, boolean isRebuilt) {
    final EndpointRecord before = endpoint.record();
    final LabelDerivation labels = LabelDerivation.of(after, labelFilter);
    final boolean isRelabelled = !labels.equals(endpoint.labels());
    endpoint.change(after.withIdentity(endpoint.identity().id()), labels);
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
    return rebuilt(endpoint, new Applied(before, after), isRebuilt);
  }

  private Applied changeIdentity(
      Endpoint endpoint,
      EndpointRecord after,
      CompletableFuture<Identity> next,
      boolean isRebuilt) {
    final EndpointRecord before = endpoint.record();
    endpoint.change(
        after.withIdentity(IdentityArrival.numberOf(next)), LabelDerivation.of(after, labelFilter));
    if (!endpoint.is(EndpointState.WAITING_FOR_IDENTITY)) {
      journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "labels changed");
    }
    arrival.await(endpoint, next);
    return rebuilt(endpoint, new Applied(before, after), isRebuilt);
  }

  private Applied rebuilt(Endpoint endpoint, Applied applied, boolean isRebuilt) {
    if (isRebuilt && (endpoint.is(EndpointState.READY) || endpoint.is(EndpointState.NOT_READY))) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "configuration changed");
    }
    return applied;
  }

  /**
   * Undoes a change that could not be realized. What another request has changed since stays. The
   * endpoint then waits for a build with its former configuration, or for its former identity.
   */
  public void undo(Endpoint endpoint, Applied change) {
    final EndpointRecord undone = undone(endpoint.record(), change);
    final LabelDerivation labels = LabelDerivation.of(undone, labelFilter);
    final Identity former = endpoint.formerIdentity(wanted(labels.identity()));
    if (!isSame(labels.identity(), endpoint.identity()) && former != null) {
      endpoint.identifyAgain(former);
    }
    final boolean hasIdentity = isSame(labels.identity(), endpoint.identity());
    endpoint.change(undone.withIdentity(hasIdentity ? endpoint.identity().id() : 0), labels);
    if (hasIdentity) {
      endpoint.await(null);
      if (!endpoint.is(EndpointState.WAITING_TO_REGENERATE)) {
        journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "the change is undone");
      }
    } else {
      if (!endpoint.is(EndpointState.WAITING_FOR_IDENTITY)) {
        journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "the change is undone");
      }
      arrival.acquireAgain(endpoint);
    }
  }

  private static EndpointRecord undone(EndpointRecord now, Applied change) {
    return now.withDevice(undone(now, change, EndpointRecord::device))
        .withLabels(undone(now, change, EndpointRecord::labels))
        .withConfiguration(undone(now, change, EndpointRecord::configuration))
        .withNamedPorts(undone(now, change, EndpointRecord::namedPorts))
        .withDescription(
            undone(now, change, EndpointRecord::externalIdentifiers),
            undone(now, change, EndpointRecord::workload));
  }

  private static <T> T undone(
      EndpointRecord now, Applied change, Function<EndpointRecord, T> part) {
    final T present = part.apply(now);
    return present.equals(part.apply(change.after())) ? part.apply(change.before()) : present;
  }

  private static boolean isSame(LabelSet labels, Identity identity) {
    return identity != null && wanted(labels).equals(identity.labels());
  }

  private static LabelSet wanted(LabelSet labels) {
    return labels.isEmpty() ? ReservedIdentity.INIT.identity().labels() : labels;
  }

  /** Returns whether both records need the same build, whatever their identities. */
  private static boolean isBuiltAs(EndpointRecord one, EndpointRecord other) {
    return one.device().equals(other.device())
        && one.configuration().equals(other.configuration())
        && one.namedPorts().equals(other.namedPorts());
  }
}
