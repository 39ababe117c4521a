package agent.endpoint;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;

/** Changes what is asked of an endpoint: checked, stored, and then built. */
final class EndpointChange {
  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final RequestReader reader;
  private final Regeneration regeneration;

  EndpointChange(
      EndpointContext context,
      EndpointRegistry registry,
      EndpointJournal journal,
      RequestReader reader,
      Regeneration regeneration) {
    this.context = context;
    this.registry = registry;
    this.journal = journal;
    this.reader = reader;
    this.regeneration = regeneration;
  }

  /** PATCH of an endpoint. */
  EndpointSnapshot modify(Endpoint endpoint, EndpointRequest request) {
    checkMutable(endpoint);
    final EndpointRecord after = reader.modified(endpoint.record(), request);
    registry.all().forEach(other -> EndpointCreation.checkInterface(after, other));
    final boolean asksForBuild =
        EndpointState.parse("state", request.state()) == EndpointState.WAITING_TO_REGENERATE;
    store(endpoint, after, asksForBuild);
    return build(endpoint, Boolean.TRUE.equals(request.syncBuildEndpoint()));
  }

  /** PATCH of its configuration. */
  EndpointSnapshot configure(Endpoint endpoint, Map<String, String> options, List<String> user) {
    checkMutable(endpoint);
    EndpointRecord after = endpoint.record();
    if (options != null) {
      final EndpointOptions changed =
          EndpointOptions.defaults().with(after.options()).with(options);
      after = after.withOptions(changed.toMap(), after.datapathConfiguration());
    }
    if (user != null) {
      after =
          after.withLabels(after.labels(), RequestReader.labels("label-configuration.user", user));
    }
    store(endpoint, after, options != null);
    return build(endpoint, true);
  }

  /** PATCH of its labels. */
  EndpointSnapshot relabel(Endpoint endpoint, List<String> user) {
    checkMutable(endpoint);
    final List<String> labels = RequestReader.labels("user", user);
    store(endpoint, endpoint.record().withLabels(endpoint.record().labels(), labels), false);
    return build(endpoint, true);
  }

  private static void checkMutable(Endpoint endpoint) {
    if (endpoint.is(EndpointState.INVALID)) {
      throw Refusal.conflict(
          "id", "endpoint " + endpoint.id() + " is invalid and can only be deleted");
    }
  }

  /** Stores the change, takes the identity that it leads to, and notes whether a build is due. */
  private void store(Endpoint endpoint, EndpointRecord after, boolean buildAlways) {
    final LabelDerivation labels = LabelDerivation.of(after, context.labelFilter());
    final boolean relabelled = !labels.equals(endpoint.labels());
    final boolean rebuilt = buildAlways || !isBuiltAs(endpoint.record(), after);
    if (isSame(labels.identity(), endpoint.identity())) {
      final EndpointRecord record = after.withIdentity(endpoint.identity().id());
      context.store().save(record);
      endpoint.change(record, labels);
      if (relabelled && endpoint.is(EndpointState.READY) && !rebuilt) {
        journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "labels changed");
        journal.note(
            endpoint, EndpointState.READY, "identity " + endpoint.identity().id() + " as before");
      }
    } else {
      final Identity next = context.identities().acquire(labels.identity());
      try {
        context.store().save(after.withIdentity(next.id()));
      } catch (RuntimeException failure) {
        context.identities().release(next.id());
        throw failure;
      }
      endpoint.change(after.withIdentity(next.id()), labels);
      journal.note(endpoint, EndpointState.WAITING_FOR_IDENTITY, "labels changed");
      endpoint.identify(next);
      journal.note(
          endpoint,
          EndpointState.WAITING_TO_REGENERATE,
          "identity " + next.id() + " " + next.labels());
    }
    if (rebuilt && !endpoint.is(EndpointState.WAITING_TO_REGENERATE)) {
      journal.note(endpoint, EndpointState.WAITING_TO_REGENERATE, "configuration changed");
    }
  }

  private static boolean isSame(LabelSet labels, Identity identity) {
    final LabelSet wanted = labels.isEmpty() ? ReservedIdentity.INIT.identity().labels() : labels;
    return wanted.equals(identity.labels());
  }

  /** Whether both are enforced in the same way, but for the identity. */
  private static boolean isBuiltAs(EndpointRecord one, EndpointRecord other) {
    return one.interfaceIndex() == other.interfaceIndex()
        && one.interfaceName().equals(other.interfaceName())
        && one.mac().equals(other.mac())
        && one.hostMac().equals(other.hostMac())
        && one.options().equals(other.options())
        && one.datapathConfiguration().equals(other.datapathConfiguration());
  }

  private EndpointSnapshot build(Endpoint endpoint, boolean wait) {
    if (endpoint.is(EndpointState.WAITING_TO_REGENERATE)) {
      if (!wait) {
        regeneration.regenerateLater(endpoint);
      } else {
        final RuntimeException failure = regeneration.regenerate(endpoint);
        if (failure != null) {
          throw Refusal.of(Refusal.Kind.FAILED, "", failure.getMessage(), failure);
        }
      }
    }
    return registry.publish(endpoint);
  }
}
