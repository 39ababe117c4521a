package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfObject;
import agent.conductor.ConductorAgent;
import agent.datapath.spec.DeviceProxy;
import agent.maps.kernel.BpfMapException;
import agent.types.AddressPair;
import agent.types.OperationException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Keeps the host programs on the devices that are to be guarded. */
public final class NetworkDevices implements DeviceProxy {
  private static final Logger LOGGER = LogManager.getLogger(NetworkDevices.class);

  private final ConductorAgent conductor;
  private final DeviceAttachments attachments;
  private final DeviceEntries entries;
  private final HookGuard hooks;
  private final Supplier<CompletableFuture<BpfObject>> loader;
  private final Map<String, Integer> guarded = new TreeMap<>();
  private final Set<String> closed = new HashSet<>();
  private Map<String, AddressPair> masquerades;

  /**
   * Creates the keeper of no device.
   *
   * @param entries tells the programs by which devices flows may bypass the stack
   * @param masquerades the addresses of {@link #masquerade} from the start
   * @param loader loads the object of the host programs
   */
  public NetworkDevices(
      ConductorAgent conductor,
      DeviceAttachments attachments,
      DeviceEntries entries,
      HookGuard hooks,
      Map<String, AddressPair> masquerades,
      Supplier<CompletableFuture<BpfObject>> loader) {
    this.conductor = conductor;
    this.attachments = attachments;
    this.entries = entries;
    this.hooks = hooks;
    this.masquerades = Map.copyOf(masquerades);
    this.loader = loader;
  }

  /**
   * Attaches the programs to a device before the conductor's thread runs.
   *
   * @throws AttachException where the kernel refuses
   */
  public void attach(String name, int ifindex, BpfObject object) {
    try {
      for (final String program : DeviceAttachments.HOST_PROGRAMS) {
        final Attachment attachment = attachments.attachHost(name, ifindex, program, object);
        hooks.watch(0, subject(name, program), attachment, loader, program);
      }
    } catch (AttachException | BindingsException failure) {
      detach(name, ifindex); // of a device that goes, or that has one of them
      throw failure;
    }
    guarded.put(name, ifindex);
    if (ClosedPrograms.isClosed(object)) {
      closed.add(name); // no flow of a workload leaves by it past the stack, or masqueraded
      entries.remove(ifindex);
    } else {
      closed.remove(name);
      entries.add(ifindex, masquerades.getOrDefault(name, AddressPair.NONE));
    }
  }

  private void detach(String name, int ifindex) {
    DeviceAttachments.HOST_PROGRAMS.forEach(program -> hooks.forget(subject(name, program)));
    attachments.detachHost(name, ifindex);
  }

  private static String subject(String name, String program) {
    return "device " + name + " " + program;
  }

  @Override
  public CompletableFuture<Void> guard(Map<String, Integer> devices) {
    final Map<String, Integer> wanted = new TreeMap<>(devices);
    return loader
        .get()
        .thenCompose(
            object ->
                conductor
                    .run(() -> onGuard(wanted, object))
                    .whenComplete((done, failure) -> object.close()));
  }

  @Override
  public CompletableFuture<Void> masquerade(Map<String, AddressPair> addresses) {
    final Map<String, AddressPair> wanted = Map.copyOf(addresses);
    return conductor.run(
        () -> {
          masquerades = wanted;
          guarded.forEach(
              (name, ifindex) -> {
                if (!closed.contains(name)) {
                  entries.add(ifindex, wanted.getOrDefault(name, AddressPair.NONE));
                }
              });
        });
  }

  private void onGuard(Map<String, Integer> wanted, BpfObject object) {
    for (final String name : List.copyOf(guarded.keySet())) {
      if (!guarded.get(name).equals(wanted.get(name))) {
        final int ifindex = guarded.remove(name);
        entries.remove(ifindex);
        detach(name, ifindex);
        LOGGER.info("device {} (ifindex {}): device program detached", name, ifindex);
      }
    }
    RuntimeException first = null;
    for (final Map.Entry<String, Integer> device : wanted.entrySet()) {
      if (!guarded.containsKey(device.getKey())) {
        try {
          attach(device.getKey(), device.getValue(), object);
          LOGGER.info(
              "device {} (ifindex {}): device program attached",
              device.getKey(),
              device.getValue());
        } catch (AttachException | BindingsException | BpfMapException failure) {
          first = first == null ? failure : first;
        }
      }
    }
    if (first != null) {
      throw new OperationException(
          "the device program is not attached: " + first.getMessage(), first);
    }
  }
}
