package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.conductor.Work;
import agent.endpoint.build.Answers;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.types.Refusal;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Sets options on all endpoints, a few at a time, so that other requests pass. An endpoint that was
 * not-ready before is built later, and one that is invalid by a later run, whose record has them;
 * each other one has the options when the future completes. Runs on the conductor's thread.
 *
 * @param conductor executes the steps
 * @param registry the live endpoints
 * @param endpoints changes one of them
 */
record OptionOverride(
    ConductorAgent conductor, EndpointRegistry registry, EndpointRequestProxy endpoints) {
  private static final int ENDPOINTS_PER_STEP = 8;

  /** Fewer than the operations that run at a time, so that another request finds a free one. */
  private static final int MAX_ACTIVE = 4;

  /**
   * Begins to set options; nothing is set yet.
   *
   * @param defaults the options of new endpoints before
   * @param options option name to value
   */
  Run begin(EndpointOptions defaults, Map<String, String> options) {
    return new Run(defaults, options);
  }

  /** Stores each endpoint that the store does not hold with its present values of options. */
  CompletableFuture<Void> store(Set<String> names) {
    return new Pass(ids(), endpoint -> store(endpoint, names), false).begun();
  }

  private CompletableFuture<?> store(Endpoint endpoint, Set<String> names) {
    final EndpointRecord stored = endpoint.storedRecord();
    return stored == null
            || only(names, stored.configuration().options())
                .equals(only(names, endpoint.record().configuration().options()))
        ? null
        : endpoints.save(endpoint.id());
  }

  private static Map<String, String> only(Set<String> names, Map<String, String> options) {
    final Map<String, String> values = new LinkedHashMap<>(options);
    values.keySet().retainAll(names);
    return values;
  }

  /** Returns the ids, ascending, of the endpoints that exist or are being stored. */
  private int[] ids() {
    return registry.records().stream().mapToInt(EndpointRecord::id).sorted().toArray();
  }

  /** One change of the options of all endpoints, and its undoing. */
  final class Run {
    private final EndpointOptions defaults;
    private final Map<String, String> options;
    private final int[] present = ids();

    /** The endpoints that were there before the change. */
    private final Set<Endpoint> old = new HashSet<>(registry.all());

    /** The values before the change of those that were reached and had others. */
    private final Map<Endpoint, Map<String, String>> former = new HashMap<>();

    private Run(EndpointOptions defaults, Map<String, String> options) {
      this.defaults = defaults;
      this.options = options;
    }

    /**
     * Sets the options. After the first failure of an endpoint no further ones are changed; it
     * fails when those that were begun have ended.
     */
    CompletableFuture<Void> set() {
      return options.isEmpty()
          ? CompletableFuture.completedFuture(null)
          : new Pass(present, this::setOn, true).begun();
    }

    private CompletableFuture<?> setOn(Endpoint endpoint) {
      old.add(endpoint);
      if (!isChangeable(endpoint) || options.equals(valuesOf(endpoint))) {
        return null;
      }
      return override(
          endpoint,
          present -> {
            former.put(present, valuesOf(present));
            return options;
          });
    }

    /** Sets the former options; endpoints that came meanwhile get the former defaults. */
    CompletableFuture<Void> undo() {
      return options.isEmpty()
          ? CompletableFuture.completedFuture(null)
          : new Pass(ids(), this::undoOn, false).begun();
    }

    private CompletableFuture<?> undoOn(Endpoint endpoint) {
      final Map<String, String> values = former(endpoint);
      return values == null || !isChangeable(endpoint) || values.equals(valuesOf(endpoint))
          ? null
          : override(endpoint, present -> values);
    }

    /** Returns the options before the change; null for an endpoint that was not changed. */
    private Map<String, String> former(Endpoint endpoint) {
      return old.contains(endpoint)
          ? former.get(endpoint)
          : only(
              options.keySet(),
              defaults.forWorkload(endpoint.record().configuration().datapath()).toMap());
    }

    private Map<String, String> valuesOf(Endpoint endpoint) {
      return only(options.keySet(), endpoint.options().toMap());
    }
  }

  /** A record that cannot be read stays as it is for who repairs it. */
  private static boolean isChangeable(Endpoint endpoint) {
    return endpoint.isLive() && !endpoint.isRecordUnreadable();
  }

  private CompletableFuture<?> override(
      Endpoint endpoint, Function<Endpoint, Map<String, String>> values) {
    if (endpoint.is(EndpointState.INVALID)) {
      endpoints.setForLaterRun(endpoint, values.apply(endpoint));
      return null;
    }
    return endpoints.override(endpoint.id(), values, !endpoint.is(EndpointState.NOT_READY));
  }

  /** Begins an operation on one endpoint after the other, several at a time. */
  private final class Pass implements Work {
    private final int[] ids;
    private final Function<Endpoint, CompletableFuture<?>> operation;
    private final boolean endsAtFailure;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private int next;
    private int active;
    private RuntimeException failure;

    /**
     * Creates a pass; {@link #begun} follows.
     *
     * @param operation returns null for an endpoint that needs none
     * @param endsAtFailure whether none begins after the first failure
     */
    Pass(int[] ids, Function<Endpoint, CompletableFuture<?>> operation, boolean endsAtFailure) {
      this.ids = ids;
      this.operation = operation;
      this.endsAtFailure = endsAtFailure;
    }

    CompletableFuture<Void> begun() {
      conductor.beginHere(this);
      return done;
    }

    @Override
    public Progress step() {
      final int first = next;
      while (mayGoOn() && next - first < ENDPOINTS_PER_STEP) {
        visit(ids[next++]);
      }
      if (next > first) {
        return Progress.WORKED;
      }
      if (active > 0 || mayFollow()) {
        return Progress.WAITING;
      }
      if (failure == null) {
        done.complete(null);
      } else {
        done.completeExceptionally(failure);
      }
      return Progress.DONE;
    }

    private boolean mayFollow() {
      return next < ids.length && (failure == null || !endsAtFailure);
    }

    private boolean mayGoOn() {
      return mayFollow() && active < MAX_ACTIVE && !isBeingStored(ids[next]);
    }

    /** Such an endpoint has the defaults before the change, and can be changed when it exists. */
    private boolean isBeingStored(int id) {
      return registry.find(id) == null && registry.isTaken(id);
    }

    private void visit(int id) {
      final Endpoint endpoint = registry.find(id);
      final CompletableFuture<?> begun = endpoint == null ? null : operation.apply(endpoint);
      if (begun != null) {
        active++;
        begun.whenComplete((result, cause) -> ended(id, cause));
      }
    }

    private void ended(int id, Throwable cause) {
      active--;
      if (cause != null && failure == null) {
        failure = named(id, Answers.unwrapped(cause));
      }
    }

    @Override
    public void failed(RuntimeException cause) {
      done.completeExceptionally(cause);
    }

    /** Returns null for the failure of an endpoint that is gone, or goes: it needs no options. */
    private static RuntimeException named(int id, RuntimeException cause) {
      if (cause instanceof Refusal refusal
          && (refusal.kind() == Refusal.Kind.NOT_FOUND
              || refusal.kind() == Refusal.Kind.CONFLICT)) {
        return null;
      }
      final String subject = "endpoint " + id;
      return String.valueOf(cause.getMessage()).startsWith(subject + ":")
          ? cause
          : Answers.named(subject, cause);
    }
  }
}
