package agent.endpoint.state;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Records transitions in the endpoint's log and the agent's log, publishes a new snapshot, and
 * schedules retries of failed builds. Runs on the conductor's thread.
 */
public final class EndpointJournal {
  private static final Logger LOGGER = LogManager.getLogger(EndpointJournal.class);

  private final EndpointRegistry registry;
  private final ConductorAgent conductor;
  private final InstantSource clock;
  private final Duration retryBase;
  private final Duration retryMax;
  private final boolean watchesAddresses;
  private Consumer<Endpoint> rebuild = endpoint -> {};

  /**
   * Creates a journal of the endpoints of the registry.
   *
   * @param conductor runs retries
   * @param retryBase the pause after the first failure; each further failure doubles it
   * @param retryMax the longest pause
   * @param watchesAddresses whether workloads are asked for their addresses
   */
  public EndpointJournal(
      EndpointRegistry registry,
      ConductorAgent conductor,
      InstantSource clock,
      Duration retryBase,
      Duration retryMax,
      boolean watchesAddresses) {
    this.registry = registry;
    this.conductor = conductor;
    this.clock = clock;
    this.retryBase = retryBase;
    this.retryMax = retryMax;
    this.watchesAddresses = watchesAddresses;
  }

  /** Sets the function that builds an endpoint again whose build failed. */
  public void onRetry(Consumer<Endpoint> build) {
    rebuild = build;
  }

  /** Adds a new endpoint, which waits for its identity; the store holds its record. */
  public Endpoint begin(EndpointRecord record, LabelDerivation labels, String message) {
    return enter(record, labels, EndpointState.WAITING_FOR_IDENTITY, message);
  }

  /** Adds an endpoint of the previous run. */
  public Endpoint restore(EndpointRecord record, LabelDerivation labels, String message) {
    return enter(record, labels, EndpointState.RESTORING, message);
  }

  private Endpoint enter(
      EndpointRecord record, LabelDerivation labels, EndpointState state, String message) {
    final Endpoint endpoint =
        new Endpoint(record, labels, new RegenerationController(record.id(), retryBase, retryMax));
    endpoint.stored(record);
    if (watchesAddresses) {
      endpoint.reachability().watch();
    }
    endpoint.transition(state, message, clock.instant());
    registry.add(endpoint);
    return endpoint;
  }

  /** Records a transition. */
  public void note(Endpoint endpoint, EndpointState next, String message) {
    endpoint.transition(next, message, clock.instant());
    LOGGER.debug("endpoint {}: {}: {}", endpoint.id(), next.text(), message);
    registry.publish(endpoint);
  }

  /**
   * Records what is wrong with the interface of the endpoint; the agent's log has one line for each
   * change.
   *
   * @param fault the fault, or null where it has ended
   */
  public void interfaceFault(Endpoint endpoint, Fault fault) {
    final Fault before = endpoint.interfaceFault();
    endpoint.interfaceFault(fault);
    found(
        endpoint,
        before,
        fault,
        "interface '" + endpoint.record().device().name() + "' is in order");
  }

  /**
   * Records what is wrong with the route to the endpoint, as {@link #interfaceFault} does.
   *
   * @param fault the fault, or null where it has ended
   */
  public void routeFault(Endpoint endpoint, Fault fault) {
    final Fault before = endpoint.routeFault();
    endpoint.routeFault(fault);
    found(endpoint, before, fault, "the routes to the endpoint are in order");
  }

  /**
   * Publishes a change of the reachability, and records what is wrong with the addresses as {@link
   * #interfaceFault} does.
   *
   * @param fault the fault, or null where it has ended
   */
  public void addressFault(Endpoint endpoint, Fault fault) {
    final Fault before = endpoint.reachability().fault();
    endpoint.reachability().fault(fault);
    if (Objects.equals(before, fault)) {
      registry.publish(endpoint);
    } else {
      found(endpoint, before, fault, "the workload answers probes of its addresses");
    }
  }

  private void found(Endpoint endpoint, Fault before, Fault now, String rightMessage) {
    if (!Objects.equals(before, now)) {
      final String message = now == null ? rightMessage : now.message();
      final HealthLevel level = now == null ? HealthLevel.OK : HealthLevel.of(now);
      endpoint.note(level, message, clock.instant());
      LOGGER.warn("endpoint {}: {}", endpoint.id(), message);
      registry.publish(endpoint);
    }
  }

  /** Records a successful build. */
  public void succeeded(Endpoint endpoint, String message) {
    endpoint.controller().succeeded(clock.instant());
    endpoint.error(null);
    note(endpoint, EndpointState.READY, message);
  }

  /**
   * Records a failed build and schedules a retry, which builds the endpoint if it is still
   * not-ready.
   */
  public void failed(Endpoint endpoint, RuntimeException failure) {
    final String message = String.valueOf(failure.getMessage());
    endpoint.controller().failed(clock.instant(), message);
    endpoint.error(message);
    endpoint.transition(
        EndpointState.NOT_READY,
        endpoint.attached() == null ? HealthLevel.FAILURE : HealthLevel.WARNING,
        message,
        clock.instant());
    registry.publish(endpoint);
    if (!endpoint.isRetryPending()) {
      final Duration pause = endpoint.controller().pause();
      LOGGER.warn("endpoint {}: {}; retry in {} ms", endpoint.id(), message, pause.toMillis());
      retryLater(endpoint, EndpointState.NOT_READY, pause, rebuild);
    }
  }

  /** Records that a removal could not finish; the endpoint stays in state disconnecting. */
  public Duration removalFailed(Endpoint endpoint, String message) {
    endpoint.controller().failed(clock.instant(), message);
    endpoint.error(message);
    endpoint.note(HealthLevel.WARNING, message, clock.instant());
    registry.publish(endpoint);
    return endpoint.controller().pause();
  }

  /**
   * Records that an endpoint keeps the policy of the previous run, because the stored rules cannot
   * be read. There is no retry: it is built when a person has set the rules anew.
   */
  public void held(Endpoint endpoint, String message) {
    note(endpoint, EndpointState.WAITING_TO_REGENERATE, "restored from the previous run");
    note(endpoint, EndpointState.REGENERATING, "restoring");
    endpoint.error(message);
    endpoint.transition(EndpointState.NOT_READY, HealthLevel.FAILURE, message, clock.instant());
    registry.publish(endpoint);
  }

  /** Schedules a retry after a pause; it runs if the endpoint is still in the state. */
  public void retryLater(
      Endpoint endpoint, EndpointState state, Duration pause, Consumer<Endpoint> retry) {
    endpoint.retryPending(true);
    conductor.schedule(
        pause.toNanos(),
        () -> {
          endpoint.retryPending(false);
          if (registry.holds(endpoint) && endpoint.is(state)) {
            retry.accept(endpoint);
          }
        });
  }

  /** Records that the endpoint is invalid: only DELETE is accepted. */
  public void invalid(Endpoint endpoint, String message) {
    endpoint.error(message);
    endpoint.transition(EndpointState.INVALID, HealthLevel.FAILURE, message, clock.instant());
    LOGGER.error("endpoint {}: {}", endpoint.id(), message);
    registry.publish(endpoint);
  }
}
