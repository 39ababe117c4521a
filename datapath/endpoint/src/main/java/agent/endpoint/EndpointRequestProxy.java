package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.build.Answers;
import agent.endpoint.build.EndpointBuild;
import agent.endpoint.build.EndpointOperations;
import agent.endpoint.build.EndpointRemoval;
import agent.endpoint.request.EndpointChange;
import agent.endpoint.request.EndpointChange.Applied;
import agent.endpoint.request.EndpointChange.Commit;
import agent.endpoint.request.EndpointCreation;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.MutableOption;
import agent.types.EntrySource;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Serves endpoint requests of other threads: reads return snapshots, changes are operations on
 * {@code ep-conductor}. It serves one source: other sources' endpoints are read, not changed.
 */
final class EndpointRequestProxy implements Endpoints {
  private final ConductorAgent conductor;
  private final EndpointRegistry registry;
  private final EndpointOperations operations;
  private final EndpointCreation creation;
  private final EndpointChange change;
  private final EndpointBuild build;
  private final EndpointRemoval removal;
  private final EntrySource source;
  private final Function<Set<String>, CompletableFuture<Void>> settled;

  /** Creates the endpoints of the API. */
  EndpointRequestProxy(
      ConductorAgent conductor,
      EndpointRegistry registry,
      EndpointOperations operations,
      EndpointCreation creation,
      EndpointChange change,
      EndpointBuild build,
      EndpointRemoval removal) {
    this.conductor = conductor;
    this.registry = registry;
    this.operations = operations;
    this.creation = creation;
    this.change = change;
    this.build = build;
    this.removal = removal;
    source = EntrySource.API;
    settled = names -> CompletableFuture.completedFuture(null);
  }

  private EndpointRequestProxy(
      EndpointRequestProxy other,
      EntrySource source,
      Function<Set<String>, CompletableFuture<Void>> settled) {
    conductor = other.conductor;
    registry = other.registry;
    operations = other.operations;
    creation = other.creation;
    change = other.change;
    build = other.build;
    removal = other.removal;
    this.source = source;
    this.settled = settled;
  }

  /**
   * Returns the same endpoints, as a source changes them.
   *
   * @param optionsSettled completes when none of these options is being set on all endpoints; an
   *     endpoint's own change of one follows that, so that it stays
   */
  EndpointRequestProxy of(
      EntrySource owner, Function<Set<String>, CompletableFuture<Void>> optionsSettled) {
    return new EndpointRequestProxy(this, owner, optionsSettled);
  }

  /** Returns the operation, which refuses an endpoint that is not of the source. */
  private <T> Function<Endpoint, CompletableFuture<T>> ofOwn(
      String field, Function<Endpoint, CompletableFuture<T>> operation) {
    return endpoint -> {
      requireOwn(field, endpoint);
      return operation.apply(endpoint);
    };
  }

  /** The source of an endpoint whose record cannot be read is not known: the API may remove it. */
  private void requireOwn(String field, Endpoint endpoint) {
    if (endpoint.isRecordUnreadable() && !source.equals(EntrySource.API)) {
      throw Refusal.unavailable(
          field,
          "endpoint " + endpoint.id() + ": its source is not known, its record cannot be read");
    }
    endpoint.record().source().requireOf(source, field, () -> "endpoint " + endpoint.id());
  }

  /**
   * Runs the request on the conductor's thread; its dependent stages run there too, never on the
   * caller's.
   */
  private <T> CompletableFuture<T> ask(Callable<CompletableFuture<T>> request) {
    return conductor.submit(request).thenCompose(Function.identity());
  }

  @Override
  public CompletableFuture<EndpointSnapshot> create(
      EndpointIdentifier id, EndpointRequest request) {
    return ask(
        () ->
            operations
                .create(() -> creation.admit(source, id, request))
                .thenCompose(endpoint -> onAdmitted(endpoint, request)));
  }

  /** Closes the workload before any answer, so that no packet of an endpoint passes unfiltered. */
  private CompletableFuture<EndpointSnapshot> onAdmitted(
      Endpoint endpoint, EndpointRequest request) {
    final boolean isSynchronous = Boolean.TRUE.equals(request.syncBuildEndpoint());
    return operations
        .on(idOf(endpoint), build::close)
        .thenCompose(closed -> isSynchronous ? whenIdentified(endpoint) : buildLater(endpoint))
        .handle((done, failure) -> failure)
        .thenCompose(
            failure ->
                failure == null
                    ? CompletableFuture.completedFuture(registry.publish(endpoint))
                    : removeUnbuilt(endpoint, Answers.unwrapped(failure)));
  }

  private CompletableFuture<Void> buildLater(Endpoint endpoint) {
    operations.build(endpoint);
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<EndpointSnapshot> removeUnbuilt(
      Endpoint endpoint, RuntimeException failure) {
    if (!registry.holds(endpoint)) {
      return CompletableFuture.failedFuture(failed(failure));
    }
    return operations
        .onPresent(idOf(endpoint), present -> removal.remove(present, "could not be built"))
        .thenApply(
            errors -> {
              final String more = errors.isEmpty() ? "" : "; " + String.join("; ", errors);
              throw new OperationException(failure.getMessage() + more, failure);
            });
  }

  @Override
  public CompletableFuture<EndpointSnapshot> modify(
      EndpointIdentifier id, EndpointRequest request) {
    final boolean isSynchronous = Boolean.TRUE.equals(request.syncBuildEndpoint());
    final Commit commit = isSynchronous ? Commit.BY_BUILD : Commit.BEFORE_BUILD;
    return ask(
        () ->
            settled
                .apply(optionsOf(request))
                .thenCompose(
                    done ->
                        onChange(
                            id,
                            ofOwn("id", endpoint -> change.modify(endpoint, request, commit)),
                            isSynchronous)));
  }

  /** Returns the names of the options that the request sets. */
  private static Set<String> optionsOf(EndpointRequest request) {
    return request.datapathConfiguration() != null
            && request.datapathConfiguration().disableSourceVerification() != null
        ? Set.of(MutableOption.SOURCE_IP_VERIFICATION.optionName())
        : Set.of();
  }

  @Override
  public CompletableFuture<EndpointSnapshot> configure(
      EndpointIdentifier id, Map<String, String> options, List<String> userLabels) {
    return ask(
        () ->
            settled
                .apply(options == null ? Set.of() : options.keySet())
                .thenCompose(
                    done ->
                        onChange(
                            id,
                            ofOwn("id", one -> change.configure(one, options, userLabels)),
                            true)));
  }

  @Override
  public CompletableFuture<EndpointSnapshot> setUserLabels(
      EndpointIdentifier id, List<String> userLabels) {
    return ask(
        () -> onChange(id, ofOwn("id", endpoint -> change.relabel(endpoint, userLabels)), true));
  }

  /**
   * Sets options of an endpoint of any source as {@link #configure} does; it waits for the build
   * where it is synchronous.
   *
   * @param options returns them when the endpoint's other requests before have ended
   */
  CompletableFuture<EndpointSnapshot> override(
      int id, Function<Endpoint, Map<String, String>> options, boolean isSynchronous) {
    return ask(
        () ->
            onChange(
                EndpointIdentifier.local(id),
                endpoint -> change.configure(endpoint, options.apply(endpoint), null),
                isSynchronous));
  }

  /**
   * Sets options of an invalid endpoint, which a later run may build; {@link #save} stores them.
   */
  void setForLaterRun(Endpoint endpoint, Map<String, String> options) {
    change.setForLaterRun(endpoint, options);
  }

  /** Stores an endpoint of any source that the store does not hold as it is. */
  CompletableFuture<Void> save(int id) {
    return ask(() -> operations.onPresent(EndpointIdentifier.local(id), change::save));
  }

  private record Changed(Endpoint endpoint, Applied change) {}

  /**
   * Applies a change. Where the caller is answered after the build and the change cannot be
   * realized, it is undone as a whole before the answer.
   */
  private CompletableFuture<EndpointSnapshot> onChange(
      EndpointIdentifier id,
      Function<Endpoint, CompletableFuture<Applied>> step,
      boolean isSynchronous) {
    return operations
        .on(
            id,
            endpoint ->
                step.apply(endpoint)
                    .thenCompose(
                        applied ->
                            realize(endpoint, applied, isSynchronous)
                                .thenApply(done -> new Changed(endpoint, applied))))
        .thenCompose(
            changed ->
                isSynchronous && changed.endpoint().is(EndpointState.WAITING_FOR_IDENTITY)
                    ? whenChangeIdentified(changed)
                    : CompletableFuture.completedFuture(changed.endpoint()))
        .thenApply(registry::publish);
  }

  private CompletableFuture<Void> realize(
      Endpoint endpoint, Applied applied, boolean isSynchronous) {
    final CompletableFuture<Void> realized;
    if (isSynchronous) {
      realized = buildNow(endpoint);
    } else if (applied.moves()) {
      realized = build.close(endpoint).thenCompose(closed -> buildLater(endpoint));
    } else {
      return buildLater(endpoint);
    }
    return orUndo(endpoint, applied, realized);
  }

  private CompletableFuture<Endpoint> whenChangeIdentified(Changed changed) {
    final Endpoint endpoint = changed.endpoint();
    return whenIdentified(endpoint)
        .handle((done, failure) -> failure)
        .thenCompose(
            failure ->
                failure == null || !registry.holds(endpoint)
                    ? CompletableFuture.<Void>completedFuture(null)
                    : operations.onPresent(
                        idOf(endpoint),
                        present ->
                            orUndo(
                                present,
                                changed.change(),
                                CompletableFuture.failedFuture(failure))))
        .thenApply(done -> endpoint);
  }

  /** Returns the future; where it fails, the change is undone before the returned one fails. */
  private CompletableFuture<Void> orUndo(
      Endpoint endpoint, Applied applied, CompletableFuture<Void> realized) {
    return realized
        .handle((done, failure) -> failure)
        .thenCompose(
            failure ->
                failure == null
                    ? CompletableFuture.completedFuture(null)
                    : undo(endpoint, applied, Answers.unwrapped(failure)));
  }

  private CompletableFuture<Void> undo(
      Endpoint endpoint, Applied applied, RuntimeException failure) {
    if (endpoint.isLive()) {
      change.undo(endpoint, applied);
    }
    return buildNow(endpoint)
        .handle(
            (done, second) -> {
              final String more =
                  second == null
                      ? ""
                      : "; the previous configuration is not in force again yet: "
                          + Answers.unwrapped(second).getMessage();
              throw new OperationException(failure.getMessage() + more, failure);
            });
  }

  /** Builds an endpoint in state waiting-to-regenerate; part of an operation on the endpoint. */
  private CompletableFuture<Void> buildNow(Endpoint endpoint) {
    return endpoint.is(EndpointState.WAITING_TO_REGENERATE)
        ? build
            .build(endpoint)
            .exceptionally(
                failure -> {
                  throw failed(Answers.unwrapped(failure));
                })
        : CompletableFuture.completedFuture(null);
  }

  /** Returns a future that completes when the endpoint has its identity and was built with it. */
  private CompletableFuture<Void> whenIdentified(Endpoint endpoint) {
    return endpoint
        .identified()
        .thenCompose(identified -> operations.on(idOf(endpoint), this::ready));
  }

  private CompletableFuture<Void> ready(Endpoint endpoint) {
    if (endpoint.is(EndpointState.NOT_READY)) {
      return CompletableFuture.failedFuture(new OperationException(endpoint.error()));
    }
    return buildNow(endpoint);
  }

  private static OperationException failed(RuntimeException failure) {
    return new OperationException(failure.getMessage(), failure);
  }

  private static EndpointIdentifier idOf(Endpoint endpoint) {
    return EndpointIdentifier.local(endpoint.id());
  }

  @Override
  public CompletableFuture<List<String>> delete(EndpointIdentifier id) {
    return ask(
        () ->
            operations.onPresent(
                id, ofOwn("id", endpoint -> removal.remove(endpoint, "deleted as " + id))));
  }

  @Override
  public CompletableFuture<List<String>> deleteByContainerId(String containerId) {
    return ask(() -> onDelete(containerId));
  }

  private CompletableFuture<List<String>> onDelete(String containerId) {
    if (containerId == null || containerId.isEmpty()) {
      throw Refusal.invalid("container-id", "is missing");
    }
    final List<Endpoint> named =
        registry.all().stream()
            .filter(each -> containerId.equals(each.record().externalIdentifiers().containerId()))
            .toList();
    if (named.isEmpty()) {
      throw Refusal.notFound("container-id", "no endpoint has container id '" + containerId + "'");
    }
    named.forEach(endpoint -> requireOwn("container-id", endpoint));
    final String why = "deleted as container-id:" + containerId;
    final List<CompletableFuture<List<String>>> removals = new ArrayList<>();
    for (final Endpoint endpoint : named) {
      removals.add(
          operations.onPresent(
              idOf(endpoint), ofOwn("container-id", present -> removal.remove(present, why))));
    }
    return CompletableFuture.allOf(removals.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> removals.stream().flatMap(errors -> errors.join().stream()).toList());
  }

  @Override
  public EndpointSnapshot get(EndpointIdentifier id) {
    return registry.get(id);
  }

  @Override
  public long version() {
    return registry.version();
  }

  @Override
  public List<EndpointSnapshot> list(List<String> labels) {
    if (labels.isEmpty()) {
      return List.copyOf(registry.published());
    }
    final Predicate<EndpointSnapshot> wanted = EndpointLookup.havingAll(labels);
    final List<EndpointSnapshot> found = registry.published().stream().filter(wanted).toList();
    if (found.isEmpty()) {
      throw Refusal.notFound("labels", "no endpoint has labels " + labels);
    }
    return found;
  }
}
