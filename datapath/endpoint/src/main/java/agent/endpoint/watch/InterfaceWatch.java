package agent.endpoint.watch;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.EndpointAttachmentProxy.HostInterface;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.Reachability;
import agent.endpoint.watch.NodeWatch.EndpointOwners;
import agent.endpoint.watch.NodeWatch.NodeSources;
import agent.node.Devices.Device;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Follows the host sides of the endpoints' veths. An endpoint whose interface is gone is closed, so
 * that no packet is delivered to another device with its index; it is built again on a device with
 * the same name and the same hardware addresses on both sides. A host side with another name or
 * hardware address is followed, and so is a workload's side with another address. An interface that
 * is down, and a workload's side that is down or not in its namespace, are faults of the endpoint.
 * Runs on the conductor's thread.
 */
final class InterfaceWatch {
  private static final Logger LOGGER = LogManager.getLogger(InterfaceWatch.class);

  /** The devices of the node at one time, by index and by name. */
  static final class PresentDevices {
    private final IntFunction<Device> byIndex;
    private final Function<String, Device> byName;

    private PresentDevices(IntFunction<Device> byIndex, Function<String, Device> byName) {
      this.byIndex = byIndex;
      this.byName = byName;
    }
  }

  private final ConductorAgent conductor;
  private final EndpointOwners endpoints;
  private final NodeSources node;
  private final Set<Endpoint> marked = new LinkedHashSet<>();

  /** Endpoints that are closed here, but whose entry is not known to be empty. */
  private final Set<Endpoint> closing = new LinkedHashSet<>();

  /** Endpoints of which the datapath is asked whether an interface is still theirs. */
  private final Set<Endpoint> asked = new HashSet<>();

  /** Endpoints whose new interface is being stored. */
  private final Set<Endpoint> taking = new HashSet<>();

  InterfaceWatch(ConductorAgent conductor, EndpointOwners endpoints, NodeSources node) {
    this.conductor = conductor;
    this.endpoints = endpoints;
    this.node = node;
  }

  /** Marks the endpoints that a changed device may concern. */
  void onDevice(Device device) {
    for (final Endpoint endpoint : endpoints.registry().all()) {
      final EndpointDevice own = endpoint.record().device();
      if (own.index() == device.index() || own.name().equals(device.name())) {
        marked.add(endpoint);
      }
    }
  }

  /** Closes the endpoint whose device was removed, and marks it: another one may be there. */
  void onDeviceRemoved(int index) {
    for (final Endpoint endpoint : endpoints.registry().all()) {
      final EndpointDevice own = endpoint.record().device();
      if (own.index() == index && isWatched(endpoint)) {
        close(endpoint, own.difference(null));
        marked.add(endpoint);
      }
    }
  }

  /** Returns whether an endpoint is marked. */
  boolean isMarked() {
    return !marked.isEmpty();
  }

  /**
   * Compares the marked endpoints with their devices.
   *
   * @param onChecked receives each of them
   */
  void checkMarked(Consumer<Endpoint> onChecked) {
    if (marked.isEmpty()) {
      return;
    }
    final List<Endpoint> some = List.copyOf(marked);
    marked.clear();
    final PresentDevices present =
        new PresentDevices(
            index -> node.devices().byIndex(index).orElse(null),
            name -> node.devices().byName(name).orElse(null));
    for (final Endpoint endpoint : some) {
      check(endpoint, present, true);
      onChecked.accept(endpoint);
    }
  }

  /** Reads all devices. */
  PresentDevices present() {
    final Map<Integer, Device> byIndex = new HashMap<>();
    final Map<String, Device> byName = new HashMap<>();
    for (final Device device : node.devices().all()) {
      byIndex.put(device.index(), device);
      byName.put(device.name(), device);
    }
    return new PresentDevices(byIndex::get, byName::get);
  }

  /** Compares an endpoint with the device that it has among those that are present. */
  void compare(Endpoint endpoint, PresentDevices devices) {
    check(endpoint, devices, false);
  }

  private boolean isWatched(Endpoint endpoint) {
    return endpoints.registry().holds(endpoint)
        && endpoint.isLive()
        && !endpoint.is(EndpointState.RESTORING);
  }

  private void check(Endpoint endpoint, PresentDevices present, boolean isChanged) {
    final EndpointDevice own = endpoint.record().device();
    final Device byIndex = present.byIndex.apply(own.index());
    if (!isWatched(endpoint)) {
      if (endpoint.is(EndpointState.RESTORING) && !own.isIndexAndMacOf(byIndex)) {
        marked.add(endpoint); // is compared once it is restored
      }
    } else if (own.isIndexAndMacOf(byIndex)) {
      if (!own.name().equals(byIndex.name())) {
        if (endpoint.isBusy()) {
          marked.add(endpoint); // the operation may store a record with the former name
        } else {
          follow(endpoint, own.at(byIndex));
        }
      }
      if (endpoint.isInterfaceLost()) {
        comeBack(endpoint, isChanged);
      } else {
        endpoints.journal().interfaceFault(endpoint, faultOf(endpoint, byIndex));
        followWorkload(endpoint);
        if (!endpoint.isRetryPending() // the retry builds with the present addresses
            && endpoint.record().device().differsFrom(endpoint.attached())) {
          buildAgain(endpoint, isChanged, "the hardware addresses have changed");
        }
      }
    } else if (!endpoint.isInterfaceLost() && own.isIndexOf(byIndex)) {
      ask(endpoint, byIndex);
    } else {
      lose(endpoint, present.byName.apply(own.name()), isChanged);
    }
  }

  /** Closes an endpoint whose device is gone, and takes the one that has its name where it may. */
  private void lose(Endpoint endpoint, Device byName, boolean isChanged) {
    final EndpointDevice own = endpoint.record().device();
    close(endpoint, own.difference(byName));
    if (own.isNameAndMacOf(byName) && isWorkloadBehind(byName, own)) {
      take(endpoint, byName, isChanged);
    }
  }

  /**
   * A device has the endpoint's index and another hardware address: it was changed, or it is
   * another device. The kernel ends the link of the endpoint's programs together with their device;
   * one that is attached now was attached to the same device when that was read.
   */
  private void ask(Endpoint endpoint, Device device) {
    if (asked.add(endpoint)) {
      endpoints
          .datapath()
          .hostInterfaceOf(endpoint.id())
          .whenComplete(
              (side, failure) -> conductor.run(() -> answered(endpoint, device, side, failure)));
    }
  }

  private void answered(Endpoint endpoint, Device device, HostInterface side, Throwable failure) {
    asked.remove(endpoint);
    if (failure != null) {
      LOGGER.warn("endpoint {}: host side: {}", endpoint.id(), failure.getMessage());
    }
    final EndpointDevice own = endpoint.record().device();
    if (!isWatched(endpoint) || endpoint.isInterfaceLost() || !own.isIndexOf(device)) {
      marked.add(endpoint);
    } else if (side == null || !side.isAttached() || side.ifindex() != device.index()) {
      lose(endpoint, node.devices().byName(own.name()).orElse(null), true);
    } else if (endpoint.isBusy()) {
      marked.add(endpoint); // the operation may have read the device before it was changed
    } else {
      follow(endpoint, own.as(device));
      marked.add(endpoint); // is built now
    }
  }

  /** Follows a workload that does not answer any more: its side may have another address. */
  private void followWorkload(Endpoint endpoint) {
    final EndpointDevice own = endpoint.record().device();
    if (endpoint.reachability().status() == Reachability.Status.SILENT && !endpoint.isBusy()) {
      node.devices()
          .peerOf(own.index())
          .map(Device::mac)
          .filter(mac -> !mac.isMulticast() && mac.bits() != 0 && !mac.equals(own.mac()))
          .ifPresent(mac -> follow(endpoint, own.withMac(mac)));
    }
  }

  /** Empties the endpoint's entry, so that programs deliver no packet to its interface index. */
  private void close(Endpoint endpoint, String reason) {
    if (!endpoint.isInterfaceLost() || closing.contains(endpoint)) {
      closing.add(endpoint);
      endpoints
          .datapath()
          .stopDelivery(endpoint.id())
          .whenComplete((done, failure) -> conductor.run(() -> closed(endpoint, failure)));
    }
    if (!endpoint.isInterfaceLost()) {
      if (endpoint.route() != null) {
        node.routes()
            .withdraw(endpoint.route())
            .forEach(error -> LOGGER.warn("endpoint {}: route: {}", endpoint.id(), error));
      }
      endpoint.interfaceLost();
    }
    if (endpoint.isBusy()) {
      marked.add(endpoint); // a build in progress may attach programs after this
    }
    final String message = reason == null ? "interface is gone" : reason;
    endpoints
        .journal()
        .interfaceFault(
            endpoint, new Fault(Part.PROGRAMS, false, message + "; the endpoint is closed"));
  }

  private void closed(Endpoint endpoint, Throwable failure) {
    if (failure == null) {
      closing.remove(endpoint);
    } else {
      LOGGER.error("endpoint {}: close: {}", endpoint.id(), failure.getMessage());
    }
  }

  /**
   * Follows a changed device. A failure to store it does not matter: the next run finds it by its
   * index and address, or by the datapath's link.
   */
  private void follow(Endpoint endpoint, EndpointDevice present) {
    final EndpointDevice before = endpoint.record().device();
    final EndpointRecord changed = endpoint.record().withDevice(present);
    endpoint.change(changed, endpoint.labels());
    if (endpoint.route() != null && before.mac().equals(present.mac())) {
      endpoint.route(endpoint.wantedRoute()); // the route is the device's, whatever its name is
    }
    LOGGER.warn("endpoint {}: {}", endpoint.id(), before.change(present));
    if (!endpoint.isRecordUnreadable()) { // what is known of it would replace the damaged record
      store(endpoint, changed);
    }
    endpoints.registry().publish(endpoint);
  }

  private void store(Endpoint endpoint, EndpointRecord changed) {
    endpoints
        .records()
        .save(changed)
        .whenComplete(
            (done, failure) -> {
              if (failure == null) {
                endpoint.stored(changed);
              } else {
                LOGGER.warn(
                    "endpoint {}: storing the changed interface failed: {}",
                    endpoint.id(),
                    failure.getCause().getMessage());
              }
            });
  }

  /** Returns whether the workload's side of the device has the address of the attachment. */
  private boolean isWorkloadBehind(Device device, EndpointDevice own) {
    return node.devices()
        .peerOf(device.index())
        .filter(peer -> own.mac().equals(peer.mac()))
        .isPresent();
  }

  /** Adopts a new device of the same attachment, which has another index, once that is stored. */
  private void take(Endpoint endpoint, Device device, boolean isChanged) {
    if (endpoint.isBusy()) {
      marked.add(endpoint); // the operation may store a record with the former index
      return;
    }
    if (taking.add(endpoint)) {
      final EndpointRecord before = endpoint.record();
      final EndpointRecord taken = before.withDevice(before.device().at(device));
      endpoints
          .records()
          .save(taken)
          .whenComplete(
              (done, failure) -> {
                taking.remove(endpoint);
                if (failure != null) {
                  LOGGER.warn(
                      "endpoint {}: storing index {} of interface '{}' failed: {}; retrying",
                      endpoint.id(),
                      device.index(),
                      device.name(),
                      failure.getCause().getMessage());
                } else if (!isWatched(endpoint)
                    || endpoint.isBusy()
                    || endpoint.record() != before) {
                  marked.add(endpoint); // is compared again with what has changed since
                } else {
                  endpoint.change(taken, endpoint.labels());
                  comeBack(endpoint, isChanged);
                }
              });
    }
  }

  /**
   * Builds a closed endpoint whose interface is there again.
   *
   * @param isChanged as {@link #buildAgain}
   */
  private void comeBack(Endpoint endpoint, boolean isChanged) {
    final String message = "interface '" + endpoint.record().device().name() + "' exists again";
    endpoints
        .journal()
        .interfaceFault(
            endpoint,
            new Fault(Part.PROGRAMS, true, message + ", and programs are attached to it"));
    buildAgain(endpoint, isChanged, message);
  }

  /**
   * Builds an endpoint, once no operation runs on it.
   *
   * @param isChanged whether the device has changed now; otherwise a scheduled retry is awaited
   */
  private void buildAgain(Endpoint endpoint, boolean isChanged, String message) {
    final boolean isSettled =
        endpoint.is(EndpointState.READY)
            || endpoint.is(EndpointState.NOT_READY) && (isChanged || !endpoint.isRetryPending());
    if (endpoint.isBusy() || endpoint.is(EndpointState.REGENERATING)) {
      marked.add(endpoint);
    } else if (isSettled) {
      endpoints.journal().note(endpoint, EndpointState.WAITING_TO_REGENERATE, message);
      endpoints.build().accept(endpoint);
    }
  }

  /** Returns what is wrong with a device that is the endpoint's, or null. */
  private Fault faultOf(Endpoint endpoint, Device device) {
    final String name = "interface '" + device.name() + "'";
    if (!device.up()) {
      return new Fault(Part.PROGRAMS, false, name + " is down");
    }
    final String workloadSide = "the workload's side of " + name;
    if (endpoint.peerNamespaceId() == Endpoint.UNKNOWN_NAMESPACE) {
      endpoint.peerNamespaceId(device.peerNamespaceId());
    } else if (endpoint.peerNamespaceId() != device.peerNamespaceId()) {
      return new Fault(Part.PROGRAMS, false, workloadSide + " moved to another network namespace");
    }
    if (device.hasCarrier()) {
      return null;
    }
    final Device peer = node.devices().peerOf(device.index()).orElse(null);
    if (peer == null) {
      return new Fault(
          Part.PROGRAMS, false, workloadSide + " not found: its network namespace was removed");
    }
    return new Fault(
        Part.PROGRAMS, true, peer.up() ? name + " has no carrier" : workloadSide + " is down");
  }
}
