package agent.datapath.manager.attach;

import agent.bindings.BindingsException;
import agent.bindings.BpfProgram;
import agent.bindings.NetworkDevice;
import agent.bindings.XdpMode;
import agent.datapath.manager.spec.Prefilter.PrefilterMode;
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
    throw Refusal.invalid(option, "there is no interface '" + interfaceName + "'");
  }

  /**
   * Attaches a host program to its tc hook of the device.
   *
   * @param name {@link #FROM_NETWORK} or {@link #TO_NETWORK}
   * @return the attachment, for comparisons with the kernel
   * @throws AttachException where the kernel refuses
   */
  public Attachment attachHost(String interfaceName, int ifindex, String name, BpfProgram program) {
    final TcHook hook = hostHook(interfaceName, ifindex, name);
    final Attachment attachment = choice.chosen(hook);
    attachment.attach(program).close();
    choice.other(hook).detach();
    inUse.add(hook.pin());
    return attachment;
  }

  private TcHook hostHook(String interfaceName, int ifindex, String name) {
    return new TcHook(
        interfaceName, ifindex, name.equals(FROM_NETWORK), name, pins.device(interfaceName, name));
  }

  /**
   * Attaches the prefilter program to the XDP hook of the device.
   *
   * @return the attachment, for comparisons with the kernel
   * @throws AttachException where the driver does not support the mode, or another program is
   *     attached
   */
  public Attachment attachPrefilter(
      String interfaceName, int ifindex, PrefilterMode mode, BpfProgram program) {
    final boolean isNative = mode == PrefilterMode.NATIVE;
    final Path pin = prefilterPin(interfaceName, isNative);
    // A device has at most one XDP program, and the mode of a link cannot change.
    detach(prefilterPin(interfaceName, !isNative));
    final Attachment attachment =
        new XdpAttachment(interfaceName, ifindex, isNative ? XdpMode.NATIVE : XdpMode.GENERIC, pin);
    attachment.attach(program).close();
    inUse.add(pin);
    return attachment;
  }

  /** Detaches the host programs from the device, which may be gone. */
  void detachHost(String interfaceName, int ifindex) {
    for (final String name : HOST_PROGRAMS.reversed()) {
      final TcHook hook = hostHook(interfaceName, ifindex, name);
      try {
        choice.chosen(hook).detach();
      } catch (AttachException | BindingsException failure) {
        LOGGER.warn("device {} cannot be detached: {}", interfaceName, failure.getMessage());
      }
      inUse.remove(hook.pin());
    }
  }

  /** Detaches every pinned device link that this object has not attached. */
  public void detachOthers() {
    for (final Path pin : pins.devicePins()) {
      if (!inUse.contains(pin)) {
        LOGGER.info("device link {}: no option names this device, detaching it", pin);
        detach(pin);
      }
    }
  }

  private Path prefilterPin(String interfaceName, boolean isNative) {
    return pins.device(interfaceName, isNative ? "prefilter" : "prefilter_generic");
  }

  private static void detach(Path pin) {
    try {
      PinnedLinkAttachment.detachPinned(pin);
    } catch (BindingsException failure) {
      LOGGER.warn("device link {} cannot be detached: {}", pin, failure.getMessage());
    }
  }
}
