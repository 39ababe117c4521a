package agent.endpoint.watch;

import agent.conductor.ConductorAgent;
import agent.conductor.Faults;
import agent.conductor.Repairs;
import agent.datapath.spec.DeviceProxy;
import agent.datapath.spec.EndpointAttachmentProxy;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointRegistry;
import agent.ipam.Ipam;
import agent.ipcache.Ipcache;
import agent.node.AddressProbes;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.Forwarding;
import agent.node.Gateways;
import agent.node.LocalAddresses;
import agent.node.NodeEvents;
import agent.node.WorkloadRoutes;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Follows the events of the node and passes them to the owners of interfaces, routes and node
 * parameters, a bounded number per duty cycle; compares everything periodically and after lost
 * events. It also asks workloads for their addresses, and expires address leases. Runs on the
 * conductor's thread.
 */
public final class NodeWatch implements NodeEvents.Handler {
  private static final Logger LOGGER = LogManager.getLogger(NodeWatch.class);
  private static final String PROBES = "probes of workloads";
  private static final int EVENTS_PER_CYCLE = 32;

  /** While the thread is busy, events are read so often: a reading costs more than most cycles. */
  private static final long READING_PAUSE_NS = Duration.ofMillis(1).toNanos();

  /** The least time between two repairs, so that many events cause one repair. */
  private static final long REPAIR_PAUSE_NS = Duration.ofMillis(50).toNanos();

  private static final long RETRY_PAUSE_NS = Duration.ofMillis(500).toNanos();

  /**
   * The time between two repairs as a multiple of what the last one took, so that they leave most
   * of the thread to requests: while another program removes many devices, each list of them waits
   * for the kernel's lock of the network configuration.
   */
  private static final int REPAIR_PAUSE_FACTOR = 4;

  private static final long LONGEST_REPAIR_PAUSE_NS = Duration.ofSeconds(2).toNanos();

  private final ConductorAgent conductor;
  private final NanoClock clock;
  private final Supplier<NodeEvents> source;
  private final EndpointRegistry registry;
  private final NodeParts parts;
  private final Ipam ipam;
  private final Duration interval;
  private final Supplier<AddressProbes> probes;
  private final EndpointJournal journal;
  private final Faults faults;
  private NodeEvents events = NodeEvents.NONE;
  private AddressWatch addresses;
  private NodeComparison comparison;
  private boolean isStarted;
  private boolean isNodeMarked;
  private boolean isComparisonWanted;
  private long nextReadingNs;
  private long nextRepairNs;
  private long nextComparisonNs;
  private long comparisonBeginNs;

  /**
   * What is read, followed and repaired of the node.
   *
   * @param addresses its addresses
   * @param gateways the gateways of the workloads, which are addresses of the node
   * @param devices its devices
   * @param watched the names of the devices that must be there and up
   * @param guarded the devices by which packets of the network come in, and what guards them
   * @param forwarding its parameters
   * @param routes the routes to workloads
   * @param events subscribes to the events of the calling thread's namespace
   * @param probes opens what asks workloads for their addresses; null where nothing does
   */
  public record NodeSources(
      LocalAddresses addresses,
      Gateways gateways,
      Devices devices,
      Set<String> watched,
      Guarded guarded,
      Forwarding forwarding,
      WorkloadRoutes routes,
      Supplier<NodeEvents> events,
      Supplier<AddressProbes> probes) {}

  /**
   * The devices by which packets of the network come in.
   *
   * @param present returns the index of each device that is to be guarded, by name
   * @param facing returns the names of the devices that face the network, guarded or not
   * @param addresses returns the addresses that flows of workloads get by each device
   * @param isNamed returns whether a device with this name is guarded as soon as it is there
   * @param proxy guards them
   */
  public record Guarded(
      Supplier<Map<String, Integer>> present,
      Supplier<Set<String>> facing,
      Supplier<Map<String, AddressPair>> addresses,
      Predicate<String> isNamed,
      DeviceProxy proxy) {}

  /**
   * The owners of what the endpoints have.
   *
   * @param registry the live endpoints
   * @param journal records their transitions and faults
   * @param records has their records stored
   * @param datapath holds their programs and map entries
   * @param ipcache holds their addresses and those of the node
   * @param ipam leases their addresses
   * @param build builds an endpoint in state waiting-to-regenerate
   */
  public record EndpointOwners(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointRecordWriter records,
      EndpointAttachmentProxy datapath,
      Ipcache ipcache,
      Ipam ipam,
      Consumer<Endpoint> build) {}

  /** The owners of interfaces, routes, and of what belongs to no endpoint. */
  record NodeParts(InterfaceWatch interfaces, RouteWatch routes, NodeRepair node) {}

  /**
   * Creates a watch that is not started.
   *
   * @param interval the time between two comparisons
   * @param faults receives what is wrong with the node itself
   * @param repairs counts what was repaired
   */
  public NodeWatch(
      ConductorAgent conductor,
      NanoClock clock,
      Duration interval,
      NodeSources node,
      EndpointOwners endpoints,
      Faults faults,
      Repairs repairs) {
    this.conductor = conductor;
    this.clock = clock;
    this.interval = interval;
    source = node.events();
    registry = endpoints.registry();
    ipam = endpoints.ipam();
    journal = endpoints.journal();
    probes = node.probes();
    this.faults = faults;
    parts =
        new NodeParts(
            new InterfaceWatch(conductor, endpoints, node),
            new RouteWatch(endpoints, node.routes(), repairs),
            new NodeRepair(node, endpoints.ipcache(), faults, repairs));
  }

  /** Subscribes to the events and starts the first comparison. */
  public void start() {
    events = source.get();
    if (events.descriptor() >= 0) {
      conductor.idleStrategy().watch(events.descriptor());
    }
    watchAddresses();
    isStarted = true;
    nextRepairNs = clock.nanoTime();
    nextReadingNs = nextRepairNs;
    nextComparisonNs = nextRepairNs;
    compareLater();
    isComparisonWanted = true;
  }

  /** Without the sockets no endpoint counts as connected, which is a fault of the node. */
  private void watchAddresses() {
    if (probes == null) {
      return;
    }
    try {
      addresses = new AddressWatch(registry, journal, probes.get(), clock.nanoTime());
    } catch (OperationException failure) {
      LOGGER.error("node: {}", failure.getMessage());
      faults.failed(PROBES, failure.getMessage());
    }
  }

  private void compareLater() {
    conductor.schedule(
        interval.toNanos(),
        () -> {
          compareLater();
          isComparisonWanted = true;
          ipam.expire();
        });
  }

  /** Ends the subscription. */
  public void close() {
    isStarted = false;
    events.close();
    events = NodeEvents.NONE;
    if (addresses != null) {
      addresses.close();
      addresses = null;
    }
  }

  /**
   * Handles available events and repairs what they concern; part of each duty cycle.
   *
   * @return the work count
   */
  public int work() {
    if (!isStarted) {
      return 0;
    }
    final long beginNs = clock.nanoTime();
    int count = readEvents(beginNs);
    if (beginNs - nextRepairNs >= 0 && isRepairWanted(beginNs)) {
      nextRepairNs = beginNs;
      repair(beginNs);
      nextRepairNs = Math.max(nextRepairNs, pausedNs(beginNs, LONGEST_REPAIR_PAUSE_NS));
      count++;
    }
    return addresses == null ? count : count + addresses.work(clock.nanoTime());
  }

  private int readEvents(long nowNs) {
    final boolean isDue =
        conductor.idleStrategy().takeInput()
            || events.descriptor() < 0
            || nowNs - nextReadingNs >= 0;
    if (!isDue) {
      return 0;
    }
    nextReadingNs = nowNs + READING_PAUSE_NS;
    return events.poll(this, EVENTS_PER_CYCLE);
  }

  /** Returns when work that began then and ends now may be repeated. */
  private long pausedNs(long beginNs, long longestNs) {
    final long endNs = clock.nanoTime();
    final long restNs = REPAIR_PAUSE_FACTOR * (endNs - beginNs);
    return endNs + Math.clamp(restNs, REPAIR_PAUSE_NS, longestNs);
  }

  private boolean isComparisonDue(long nowNs) {
    return isComparisonWanted && comparison == null && nowNs - nextComparisonNs >= 0;
  }

  private boolean isRepairWanted(long nowNs) {
    return isNodeMarked
        || isComparisonDue(nowNs)
        || parts.interfaces().isMarked()
        || parts.routes().isMarked();
  }

  private void repair(long nowNs) {
    try {
      if (isNodeMarked) {
        isNodeMarked = false;
        isComparisonWanted |= parts.node().repair();
      }
      parts.interfaces().checkMarked(parts.routes()::mark);
      parts.routes().repairMarked();
      if (isComparisonDue(nowNs)) {
        isComparisonWanted = false;
        comparisonBeginNs = nowNs;
        comparison = new NodeComparison(conductor, clock, registry, parts, this::ended);
        conductor.beginHere(comparison);
      }
    } catch (RuntimeException failure) {
      retry(failure);
    }
  }

  /** Ends the running comparison. */
  private void ended(RuntimeException failure) {
    comparison = null;
    nextComparisonNs = pausedNs(comparisonBeginNs, Math.max(interval.toNanos(), REPAIR_PAUSE_NS));
    if (failure == null) {
      parts.node().comparisonSucceeded();
    } else {
      retry(failure);
    }
  }

  private void retry(RuntimeException failure) {
    LOGGER.debug("node: retrying", failure);
    parts.node().comparisonFailed(String.valueOf(failure.getMessage()));
    isComparisonWanted = true;
    nextRepairNs = clock.nanoTime() + RETRY_PAUSE_NS;
  }

  @Override
  public void onDevice(Device device) {
    parts.interfaces().onDevice(device);
    isNodeMarked |= parts.node().isWatched(device.name());
  }

  @Override
  public void onDeviceRemoved(int index, String name) {
    parts.interfaces().onDeviceRemoved(index);
    isNodeMarked |= parts.node().isWatched(name);
  }

  @Override
  public void onAddress() {
    isNodeMarked = true;
  }

  @Override
  public void onRoute(IpAddress destination, int deviceIndex, boolean isOwnAdded) {
    final Endpoint endpoint = registry.findByAddress(destination);
    if (endpoint != null && !(isOwnAdded && endpoint.record().device().index() == deviceIndex)) {
      parts.routes().mark(endpoint);
    }
  }

  /** A new destination is the node's at once; what is removed is found by reading the table. */
  @Override
  public void onLocalRoute(Prefix destination, boolean isAdded) {
    if (isAdded) {
      parts.node().reachableBy(destination);
    }
    isNodeMarked = true;
  }

  @Override
  public void onParameter() {
    isNodeMarked = true;
  }

  @Override
  public void onLost() {
    isComparisonWanted = true;
  }
}
