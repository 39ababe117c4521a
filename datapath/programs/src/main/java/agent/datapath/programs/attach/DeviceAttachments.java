package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.XdpMode;
import agent.bindings.net.NetworkDevice;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.types.Refusal;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Attaches programs to the devices of the node, and detaches programs from devices that the options
 * no longer name.
 */
public final class DeviceAttachments {
  private static final Logger LOGGER = LogManager.getLogger(DeviceAttachments.class);
  static final String FROM_NETWORK = "from_network";
  static final String TO_NETWORK = "to_network";

  /** Name of the pin of the link of the prefilter, also of one with the load balancer behind it. */
  public static final String PREFILTER = "prefilter";

  /** Name of the pin of the link of the load balancer on a device without the prefilter. */
  public static final String BALANCER = "balancer";

  private static final List<String> XDP_PINS = List.of(PREFILTER, BALANCER);

  /** The programs of the host object, in the order in which they are attached. */
  static final List<String> HOST_PROGRAMS = List.of(TO_NETWORK, FROM_NETWORK);

  private final Pins pins;
  private final TcAttachmentChoice choice;
  private final Set<Path> inUse = new HashSet<>();

  /**
   * Creates the attachments of a node without attaching a program.
   *
   * @param choice tcx or clsact; programs that a previous run attached in the other mode are
   *     detached
   */
  public DeviceAttachments(Pins pins, TcAttachmentChoice choice) {
    this.pins = pins;
    this.choice = choice;
  }

  /**
   * Returns the index of an interface in the network namespace of the calling thread.
   *
   * @param option name of the option, for the refusal
   * @throws Refusal INVALID where the interface does not exist
   */
  public static int ifindex(String option, String interfaceName) {
    final int index = NetworkDevice.index(interfaceName);
    if (index > 0) {
      return index;
    }
    throw Refusal.invalid(option, "interface '" + interfaceName + "' does not exist");
  }

  /**
   * Attaches a host program to its tc hook of the device, as {@link Attachment#attachJudging} does.
   *
   * @param name {@link #FROM_NETWORK} or {@link #TO_NETWORK}
   * @return the attachment, for comparisons with the kernel
   * @throws AttachException where the kernel refuses
   */
  public Attachment attachHost(String interfaceName, int ifindex, String name, BpfObject object) {
    final TcHook hook = hostHook(interfaceName, ifindex, name);
    final Attachment attachment = choice.chosen(hook);
    attachment.attachJudging(object, name);
    choice.other(hook).detach();
    inUse.add(hook.pin());
    return attachment;
  }

  private TcHook hostHook(String interfaceName, int ifindex, String name) {
    return new TcHook(
        interfaceName, ifindex, name.equals(FROM_NETWORK), name, pins.device(interfaceName, name));
  }

  /**
   * Attaches the XDP program of a device, in place of any other of the agent: a device has at most
   * one, and the mode of a link cannot change.
   *
   * @param pin {@link #PREFILTER} or {@link #BALANCER}, the name of the link, which stays where its
   *     program changes
   * @return the attachment, for comparisons with the kernel
   * @throws AttachException where the driver does not support the mode, or another program is
   *     attached
   */
  public Attachment attachXdp(
      String interfaceName, int ifindex, String pin, PrefilterMode mode, BpfProgram program) {
    final Path own = xdpPin(interfaceName, pin, mode);
    for (final String name : XDP_PINS) {
      for (final PrefilterMode each : PrefilterMode.values()) {
        final Path other = xdpPin(interfaceName, name, each);
        if (!other.equals(own)) {
          detach(other);
        }
      }
    }
    final Attachment attachment = xdp(interfaceName, ifindex, own, mode);
    attachment.attach(program).close();
    inUse.add(own);
    return attachment;
  }

  /** Returns whether the link of a previous run is attached to the device in generic mode. */
  public boolean isGeneric(String interfaceName, int ifindex, String pin) {
    final Path path = xdpPin(interfaceName, pin, PrefilterMode.GENERIC);
    return xdp(interfaceName, ifindex, path, PrefilterMode.GENERIC).isAttached();
  }

  private static Attachment xdp(String interfaceName, int ifindex, Path pin, PrefilterMode mode) {
    final XdpMode xdpMode = mode == PrefilterMode.NATIVE ? XdpMode.NATIVE : XdpMode.GENERIC;
    return new XdpAttachment(interfaceName, ifindex, xdpMode, pin);
  }

  /** Detaches the host programs from the device, which may be gone. */
  void detachHost(String interfaceName, int ifindex) {
    for (final String name : HOST_PROGRAMS.reversed()) {
      final TcHook hook = hostHook(interfaceName, ifindex, name);
      try {
        choice.chosen(hook).detach();
      } catch (AttachException | BindingsException failure) {
        LOGGER.warn(
            "device {}: detaching the program failed: {}", interfaceName, failure.getMessage());
      }
      inUse.remove(hook.pin());
    }
  }

  /** Detaches every pinned device link that this object has not attached. */
  public void detachOthers() {
    for (final Path pin : pins.devicePins()) {
      if (!inUse.contains(pin)) {
        LOGGER.info("device link {}: no option selects this device, detaching the program", pin);
        detach(pin);
      }
    }
  }

  private Path xdpPin(String interfaceName, String pin, PrefilterMode mode) {
    return pins.device(interfaceName, mode == PrefilterMode.NATIVE ? pin : pin + "_generic");
  }

  private static void detach(Path pin) {
    try {
      PinnedLinkAttachment.detachPinned(pin);
    } catch (BindingsException failure) {
      LOGGER.warn("device link {}: detaching the program failed: {}", pin, failure.getMessage());
    }
  }
}
