package agent.endpoint;

import agent.endpoint.build.Answers;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Sets options on all endpoints. An endpoint that was not-ready before is built later; each other
 * one has the options when the future completes. Runs on the conductor's thread.
 *
 * @param registry the live endpoints
 * @param endpoints changes one of them
 */
record OptionOverride(EndpointRegistry registry, EndpointRequestProxy endpoints) {
  /**
   * Begins to set options; nothing is set yet.
   *
   * @param defaults the options of new endpoints before
   * @param options option name to value
   */
  Run begin(EndpointOptions defaults, Map<String, String> options) {
    return new Run(defaults.toMap(), options);
  }

  /** One change of the options of all endpoints, and its undoing. */
  final class Run {
    private final Map<String, String> defaults;
    private final Map<String, String> options;
    private final Map<Integer, Map<String, String>> former = new HashMap<>();

    private Run(Map<String, String> defaults, Map<String, String> options) {
      this.defaults = defaults;
      this.options = options;
      for (final Endpoint endpoint : registry.all()) {
        former.put(endpoint.id(), ofOptions(endpoint.options().toMap()));
      }
    }

    private Map<String, String> ofOptions(Map<String, String> all) {
      final Map<String, String> values = new LinkedHashMap<>(all);
      values.keySet().retainAll(options.keySet());
      return values;
    }

    /** Sets the options; fails with the first failure of an endpoint after all have ended. */
    CompletableFuture<Void> set() {
      final Map<Integer, Map<String, String>> wanted = new HashMap<>();
      former.keySet().forEach(id -> wanted.put(id, options));
      return set(wanted);
    }

    /** Sets the former options; endpoints that came meanwhile get the former defaults. */
    CompletableFuture<Void> undo() {
      final Map<Integer, Map<String, String>> wanted = new HashMap<>();
      for (final Endpoint endpoint : registry.all()) {
        wanted.put(endpoint.id(), former.getOrDefault(endpoint.id(), ofOptions(defaults)));
      }
      return set(wanted);
    }

    private CompletableFuture<Void> set(Map<Integer, Map<String, String>> wanted) {
      final List<CompletableFuture<Void>> changes = new ArrayList<>();
      wanted.forEach(
          (id, values) -> {
            final Endpoint endpoint = registry.find(id);
            if (endpoint != null
                && endpoint.isLive()
                && !endpoint.is(EndpointState.INVALID)
                && !ofOptions(endpoint.options().toMap()).equals(values)) {
              changes.add(
                  endpoints
                      .override(id, values, !endpoint.is(EndpointState.NOT_READY))
                      .handle((done, failure) -> named(id, failure)));
            }
          });
      return CompletableFuture.allOf(changes.toArray(CompletableFuture<?>[]::new));
    }

    /** An endpoint that is gone, or goes, needs no options. */
    private static Void named(int id, Throwable failure) {
      if (failure != null) {
        final RuntimeException cause = Answers.unwrapped(failure);
        if (!(cause instanceof Refusal refusal)
            || refusal.kind() != Refusal.Kind.NOT_FOUND
                && refusal.kind() != Refusal.Kind.CONFLICT) {
          final String subject = "endpoint " + id;
          throw String.valueOf(cause.getMessage()).startsWith(subject + ":")
              ? cause
              : Answers.named(subject, cause);
        }
      }
      return null;
    }
  }
}
