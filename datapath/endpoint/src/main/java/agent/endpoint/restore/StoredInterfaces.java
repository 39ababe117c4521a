package agent.endpoint.restore;

import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointAttachmentProxy.HostInterface;
import agent.endpoint.build.Answers;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Finds the interfaces of stored endpoints, which other programs may have renamed, readdressed or
 * removed since the previous run. Index and hardware address together identify an interface; where
 * the address differs, the link or filter of the endpoint's programs does, which the kernel removes
 * with its interface. Where neither tells and the kernel still has something of the endpoint, it is
 * kept, closed and with its leases. Runs on the conductor's thread.
 */
final class StoredInterfaces {
  private static final Logger LOGGER = LogManager.getLogger(StoredInterfaces.class);

  private final Devices devices;
  private final Map<Integer, Device> listed = new HashMap<>();
  private final Map<Integer, HostInterface> hostInterfaces = new HashMap<>();
  private Set<Integer> known = Set.of();

  StoredInterfaces(Devices devices) {
    this.devices = devices;
  }

  /**
   * Lists the devices, and asks the datapath for the host sides of endpoints whose interface has
   * another address than its record.
   *
   * @param inKernel the ids of endpoints of which the kernel has something
   * @param owner runs what takes the answers
   * @param errors receives a line for each failure
   */
  CompletableFuture<Void> find(
      List<EndpointRecord> records,
      Set<Integer> inKernel,
      EndpointAttachmentProxy datapath,
      Executor owner,
      List<String> errors) {
    known = inKernel;
    devices.all().forEach(device -> listed.put(device.index(), device));
    final List<CompletableFuture<Void>> answers = new ArrayList<>();
    for (final EndpointRecord record : records) {
      if (known.contains(record.id()) && byIndexAndMac(record.device()).isEmpty()) {
        answers.add(
            Answers.settled(
                errors,
                datapath
                    .hostInterfaceOf(record.id())
                    .thenAcceptAsync(side -> hostInterfaces.put(record.id(), side), owner)));
      }
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new));
  }

  /** Returns the record with the interface as it is now, or empty where the interface is gone. */
  Optional<EndpointRecord> present(EndpointRecord record) {
    final EndpointDevice former = record.device();
    final Device same =
        byIndexAndMac(former)
            .or(() -> byIndex(former).filter(device -> isLinked(record.id(), device)))
            .orElse(null);
    if (same != null) {
      return Optional.of(with(record, same));
    }
    final Device other = byIndex(former).orElse(null);
    if (other != null && known.contains(record.id())) {
      LOGGER.warn(
          "endpoint {}: kept closed, with its leases: interface '{}' with index {} has MAC address"
              + " {} instead of {}, and no program of the endpoint",
          record.id(),
          other.name(),
          other.index(),
          other.mac(),
          former.hostMac());
      return Optional.of(record);
    }
    LOGGER.warn(
        "endpoint {}: removed: interface '{}' with index {} and MAC address {} no longer exists{}",
        record.id(),
        former.name(),
        former.index(),
        former.hostMac(),
        other == null ? "" : "; '" + other.name() + "' has the index now");
    return Optional.empty();
  }

  private static EndpointRecord with(EndpointRecord record, Device device) {
    final EndpointDevice former = record.device();
    final EndpointDevice now = former.as(device);
    if (now.equals(former)) {
      return record;
    }
    InterfaceName.check("interface-name", device.name());
    LOGGER.warn("endpoint {}: {}", record.id(), former.change(now));
    return record.withDevice(now);
  }

  private Optional<Device> byIndexAndMac(EndpointDevice former) {
    return byIndex(former).filter(former::isIndexAndMacOf);
  }

  /** A device that was added while they were listed may be missing there. */
  private Optional<Device> byIndex(EndpointDevice former) {
    return Optional.ofNullable(listed.get(former.index()))
        .or(() -> devices.byIndex(former.index()))
        .filter(former::isIndexOf);
  }

  private boolean isLinked(int id, Device device) {
    final HostInterface side = hostInterfaces.get(id);
    return side != null && side.isAttached() && side.ifindex() == device.index();
  }
}
