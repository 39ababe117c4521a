package agent.datapath.manager.attach;

import agent.bindings.NetworkDevice;
import agent.bindings.XdpMode;
import agent.datapath.manager.spec.PrefilterMode;
import agent.types.Refusal;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Hangs programs on the node's devices, and takes away those that no option asks for any more. */
public final class DeviceAttachments {
  private static final Logger LOGGER = LogManager.getLogger(DeviceAttachments.class);
  private static final String FROM_NETWORK = "from_network";

  private final Pins pins;
  private final TcAttachment wanted;
  private final TcAttachment other;
  private final Set<Path> inUse = new HashSet<>();

  /** The way of attachment that is wanted, and the one that an earlier start may have used. */
  public DeviceAttachments(Pins pins, TcAttachment wanted, TcAttachment other) {
    this.pins = pins;
    this.wanted = wanted;
    this.other = other;
  }

  /**
   * The index of an interface in the caller's namespace.
   *
   * @throws Refusal INVALID where there is none
   */
  public static int ifindex(String option, String interfaceName) {
    final int index = NetworkDevice.index(interfaceName);
    if (index > 0) {
      return index;
    }
    throw Refusal.invalid(option, "there is no interface '" + interfaceName + "'");
  }

  /** Hangs the host program on what the device receives. */
  public void attachHost(String interfaceName, int ifindex, int programFd) {
    final Path pin = pins.device(interfaceName, FROM_NETWORK);
    final Hook hook = new Hook(interfaceName, ifindex, true, FROM_NETWORK, pin);
    wanted.attach(hook, programFd).release();
    other.detach(hook);
    inUse.add(pin);
  }

  /** Hangs the prefilter on the device. */
  public void attachPrefilter(
      String interfaceName, int ifindex, PrefilterMode mode, int programFd) {
    final boolean isNative = mode == PrefilterMode.NATIVE;
    final Path pin = prefilterPin(interfaceName, isNative);
    final Path otherPin = prefilterPin(interfaceName, !isNative);
    detach(otherPin); // a device has one XDP program: the mode cannot change in place
    XdpAttachment.attach(
        interfaceName, ifindex, isNative ? XdpMode.NATIVE : XdpMode.GENERIC, pin, programFd);
    inUse.add(pin);
  }

  /** Detaches device links that were not attached since this object was made. */
  public void detachOthers() {
    for (final Path pin : pins.devicePins()) {
      if (!inUse.contains(pin)) {
        LOGGER.info("device link {} is not asked for any more: detached", pin);
        detach(pin);
      }
    }
  }

  private Path prefilterPin(String interfaceName, boolean isNative) {
    return pins.device(interfaceName, isNative ? "prefilter" : "prefilter_generic");
  }

  private void detach(Path pin) {
    if (pins.devicePins().contains(pin)) {
      XdpAttachment.detachLink(pin);
    }
  }
}
