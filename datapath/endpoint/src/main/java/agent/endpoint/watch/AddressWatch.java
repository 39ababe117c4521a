package agent.endpoint.watch;

import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.Reachability;
import agent.node.AddressProbes;
import agent.types.IpAddress;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Asks the workloads of all endpoints for their addresses, each at its own interval, so that the
 * requests are spread over time. An endpoint is reachable while each of its addresses was answered
 * for within the last {@link #WINDOW}; the agent's own neighbour entries are permanent and say
 * nothing of it. A duty cycle sends and receives a bounded number, and allocates nothing while
 * nothing changes. Runs on the conductor's thread.
 */
final class AddressWatch {
  /** How long an answer counts: two requests that are lost change nothing. */
  private static final Duration WINDOW = Duration.ofSeconds(8);

  private static final long WINDOW_NS = WINDOW.toNanos();

  /** The longest time between two requests: where the last was answered, or none is. */
  private static final long INTERVAL_NS = Duration.ofSeconds(3).toNanos();

  /** By so much the intervals of two endpoints differ, so that their requests drift apart. */
  private static final long INTERVAL_STEP_NS = Duration.ofMillis(12).toNanos();

  private static final int INTERVAL_STEPS = 64;

  /** The time between two requests while it is not known whether there will be an answer. */
  private static final long RETRY_NS = Duration.ofSeconds(1).toNanos();

  /** The time between two walks over all endpoints. */
  private static final long WALK_PAUSE_NS = Duration.ofMillis(200).toNanos();

  /** An answer that is later is received with the next ones. */
  private static final long RECEIVE_NS = Duration.ofSeconds(2).toNanos();

  /** The time between two looks for answers, each of which is two system calls. */
  private static final long LOOK_PAUSE_NS = Duration.ofMillis(1).toNanos();

  private static final int ENDPOINTS_PER_CYCLE = 512;
  private static final int ASKED_PER_CYCLE = 64;
  private static final int ANSWERS_PER_CYCLE = 256;

  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final AddressProbes probes;
  private final AddressProbes.Handler answers = this::onAnswer;
  private final Int2ObjectHashMap<Endpoint> byDevice = new Int2ObjectHashMap<>();
  private List<Endpoint> endpoints = List.of();
  private int membership = -1;
  private int cursor;
  private long nextWalkNs;
  private long receiveUntilNs;
  private long nextLookNs;
  private long nowNs;

  /**
   * Creates a watch.
   *
   * @param nowNs the first walk is due then
   */
  AddressWatch(
      EndpointRegistry registry, EndpointJournal journal, AddressProbes probes, long nowNs) {
    this.registry = registry;
    this.journal = journal;
    this.probes = probes;
    nextWalkNs = nowNs;
    receiveUntilNs = nowNs;
    nextLookNs = nowNs;
  }

  /**
   * Receives answers, and asks those who are due; part of each duty cycle.
   *
   * @return the work count
   */
  int work(long now) {
    nowNs = now;
    int count = 0;
    if (nowNs - receiveUntilNs < 0 && nowNs - nextLookNs >= 0) {
      nextLookNs = nowNs + LOOK_PAUSE_NS;
      count = probes.receive(answers, ANSWERS_PER_CYCLE);
    }
    if (cursor > 0 || nowNs - nextWalkNs >= 0) {
      count += walk();
    }
    return count;
  }

  private int walk() {
    if (cursor == 0) {
      nextWalkNs = nowNs + WALK_PAUSE_NS;
      if (membership != registry.membership()) {
        membership = registry.membership();
        endpoints = registry.all();
        byDevice.clear();
      }
    }
    final int end = Math.min(endpoints.size(), cursor + ENDPOINTS_PER_CYCLE);
    int asked = 0;
    while (cursor < end && asked < ASKED_PER_CYCLE) {
      final Endpoint endpoint = endpoints.get(cursor);
      cursor++;
      if (isWatched(endpoint)) {
        asked += askIfDue(endpoint);
        evaluate(endpoint);
      }
    }
    if (cursor == endpoints.size()) {
      cursor = 0;
      return asked;
    }
    return 1;
  }

  /** Returns whether the endpoint has programs on an interface with a carrier. */
  private boolean isWatched(Endpoint endpoint) {
    return endpoint.isLive()
        && !endpoint.is(EndpointState.RESTORING)
        && endpoint.attached() != null
        && endpoint.interfaceFault() == null
        && registry.holds(endpoint);
  }

  private int askIfDue(Endpoint endpoint) {
    final Reachability reachability = endpoint.reachability();
    if (!reachability.isDue(nowNs)) {
      return 0;
    }
    final EndpointAddressing addressing = endpoint.record().addressing();
    final EndpointDevice device = endpoint.record().device();
    final long intervalNs = INTERVAL_NS - endpoint.id() % INTERVAL_STEPS * INTERVAL_STEP_NS;
    reachability.asked(addressing, nowNs, intervalNs, RETRY_NS);
    receiveUntilNs = nowNs + RECEIVE_NS;
    byDevice.put(device.index(), endpoint);
    ask(device, addressing.ipv4());
    ask(device, addressing.ipv6());
    return 1;
  }

  private void ask(EndpointDevice device, IpAddress address) {
    if (address != null) {
      probes.ask(device.index(), device.hostMac(), device.mac(), address);
    }
  }

  private void onAnswer(int deviceIndex, boolean isIpv4, long high, long low) {
    final Endpoint endpoint = byDevice.get(deviceIndex);
    if (endpoint == null || !isWatched(endpoint)) {
      return;
    }
    final EndpointAddressing addressing = endpoint.record().addressing();
    final IpAddress own = isIpv4 ? addressing.ipv4() : addressing.ipv6();
    if (own != null
        && own.high() == high
        && own.low() == low
        && endpoint.record().device().index() == deviceIndex) {
      endpoint.reachability().answered(isIpv4, nowNs);
      evaluate(endpoint);
    }
  }

  private void evaluate(Endpoint endpoint) {
    final Reachability reachability = endpoint.reachability();
    final EndpointAddressing addressing = endpoint.record().addressing();
    if (reachability.evaluate(addressing, nowNs, WINDOW_NS)) {
      journal.addressFault(
          endpoint,
          reachability.status() == Reachability.Status.SILENT
              ? fault(reachability.silent(addressing))
              : null);
    }
  }

  private static Fault fault(List<IpAddress> silent) {
    return new Fault(
        Part.WORKLOAD,
        true,
        silent.stream()
            .map(IpAddress::toString)
            .collect(
                Collectors.joining(
                    ", ",
                    "the workload has not answered probes of ",
                    " within " + WINDOW.toSeconds() + " seconds")));
  }

  /** Ends the requests. */
  void close() {
    probes.close();
  }
}
