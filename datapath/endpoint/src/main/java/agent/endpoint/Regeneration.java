package agent.endpoint;

import agent.datapath.manager.spec.EndpointSpec;
import agent.identity.IdentityAllocator;
import agent.node.Device;
import agent.node.WorkloadRoute;
import agent.policy.PolicyEngine;
import agent.policy.ResolvedPolicy;
import agent.types.Refusal;

/**
 * Builds one endpoint: makes what is enforced what was asked. Every step is one that changes
 * nothing where it was done before, so that a failed build is simply done again. The address comes
 * into the ipcache last, and routes after it: nobody is sent to an endpoint that does not enforce.
 */
final class Regeneration {
  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final PolicyRealization realization;
  private final IpcacheWriter ipcache;
  private final DatapathAnswers answers;

  Regeneration(
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

  /** Another try at a build that failed. */
  void retry(Endpoint endpoint) {
    final int failures = endpoint.controller().consecutiveFailures();
    journal.note(
        endpoint, EndpointState.WAITING_TO_REGENERATE, "try again after failure " + failures);
    regenerate(endpoint);
  }

  /**
   * Builds an endpoint that waits for it.
   *
   * @return null where it is ready now, otherwise why not
   */
  RuntimeException regenerate(Endpoint endpoint) {
    journal.note(endpoint, EndpointState.REGENERATING, "building");
    journal.building(endpoint);
    try {
      checkDevice(endpoint);
      moveInterface(endpoint);
      prepare(endpoint);
      policy(endpoint);
      programs(endpoint);
      ipcache.reconcile();
      ipcache.putEndpoint(endpoint);
      route(endpoint);
      releaseFormer(endpoint);
    } catch (RuntimeException failure) {
      journal.building(null);
      journal.failed(endpoint, failure);
      return failure;
    }
    journal.building(null);
    journal.succeeded(endpoint, "enforces policy revision " + endpoint.realizedRevision());
    return null;
  }

  private void checkDevice(Endpoint endpoint) {
    final String name = endpoint.record().interfaceName();
    final int index = endpoint.record().interfaceIndex();
    final int found = context.devices().byName(name).map(Device::index).orElse(0);
    endpoint.devicePresent(found == index);
    if (found == 0) {
      throw Refusal.failed("interface-name", "interface '" + name + "' is gone");
    }
    if (found != index) {
      throw Refusal.failed(
          "interface-name", "interface '" + name + "' has index " + found + ", not " + index);
    }
  }

  /** Programs are attached to a device: to another one they do not move, they are made anew. */
  private void moveInterface(Endpoint endpoint) {
    final EndpointSpec attached = endpoint.attached();
    if (attached == null || attached.ifindex() == endpoint.record().interfaceIndex()) {
      return;
    }
    ipcache.removeEndpoint(endpoint);
    if (endpoint.route() != null) {
      context.routes().remove(endpoint.route());
    }
    final String what = "endpoint " + endpoint.id() + ": detach from " + attached.interfaceName();
    final var errors = answers.await(context.datapath().detachEndpoint(endpoint.id()), what);
    endpoint.detached();
    if (!errors.isEmpty()) {
      throw Refusal.failed("", what + ": " + String.join("; ", errors));
    }
  }

  /** The verifier takes longest: it reads while the policy is resolved and written. */
  private void prepare(Endpoint endpoint) {
    if (needsPrograms(endpoint)) {
      context.datapath().prepareEndpoint(endpoint.spec());
    }
  }

  private static boolean needsPrograms(Endpoint endpoint) {
    final EndpointSpec wanted = endpoint.spec();
    final EndpointSpec attached = endpoint.attached();
    return attached == null || !wanted.equals(withIdentity(attached, wanted.identity()));
  }

  /** The policy of all who select the identity, and its own. */
  private void policy(Endpoint endpoint) {
    final PolicyEngine engine = context.policy();
    realization.realize(engine.endpointSet(endpoint.id(), endpoint.identity()));
    final ResolvedPolicy policy = engine.policyOf(endpoint.id()).orElseThrow();
    endpoint.resolved(policy);
    if (!endpoint.isPolicyMapTrusted()) {
      answers.await(
          context
              .datapath()
              .synchronizePolicy(endpoint.id(), PolicyMapWrites.entries(policy.entries())),
          "endpoint " + endpoint.id() + ": policy map");
      endpoint.realized(policy, true);
    }
  }

  private void programs(Endpoint endpoint) {
    final EndpointSpec wanted = endpoint.spec();
    final EndpointSpec attached = endpoint.attached();
    if (wanted.equals(attached)) {
      return;
    }
    if (!needsPrograms(endpoint)) {
      answers.await(
          context.datapath().setIdentity(endpoint.id(), wanted.identity()),
          "endpoint " + endpoint.id() + ": identity");
    } else {
      answers.await(
          context.datapath().attachEndpoint(wanted), "endpoint " + endpoint.id() + ": attach");
    }
    endpoint.attached(wanted);
  }

  private static EndpointSpec withIdentity(EndpointSpec spec, int identity) {
    return new EndpointSpec(
        spec.id(),
        spec.ifindex(),
        spec.interfaceName(),
        spec.ipv4(),
        spec.ipv6(),
        spec.mac(),
        spec.hostMac(),
        identity,
        spec.options(),
        spec.aggregation());
  }

  private void route(Endpoint endpoint) {
    final WorkloadRoute wanted = endpoint.wantedRoute();
    if (endpoint.record().datapathConfiguration().routed() && !wanted.equals(endpoint.route())) {
      context.routes().add(wanted);
      endpoint.route(wanted);
    }
  }

  /** Nothing of its former identities is enforced any more: who selects them may forget them. */
  private void releaseFormer(Endpoint endpoint) {
    final IdentityAllocator identities = context.identities();
    boolean released = false;
    for (final int former : endpoint.takeFormerIdentities()) {
      released |= identities.release(former);
    }
    if (released) {
      realization.realize(context.policy().refresh());
    }
  }

  /** Builds the endpoint later, where it still waits for it then. */
  void regenerateLater(Endpoint endpoint) {
    context
        .thread()
        .execute(
            () -> {
              if (registry.holds(endpoint) && endpoint.is(EndpointState.WAITING_TO_REGENERATE)) {
                regenerate(endpoint);
              }
            });
  }
}
