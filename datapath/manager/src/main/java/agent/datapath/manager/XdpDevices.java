package agent.datapath.manager;

import agent.bindings.BpfObject;
import agent.bindings.LoadException;
import agent.bindings.NetworkDevice;
import agent.datapath.manager.attach.AttachException;
import agent.datapath.manager.attach.Attachment;
import agent.datapath.manager.attach.ClosedPrograms;
import agent.datapath.manager.attach.DeviceAttachments;
import agent.datapath.manager.attach.HookGuard;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.load.LoaderAgent;
import agent.datapath.manager.load.NodeConstants;
import agent.datapath.manager.load.ProgramLoader;
import agent.datapath.manager.spec.DatapathContext;
import agent.datapath.manager.spec.Prefilter.PrefilterMode;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The XDP programs of devices: the prefilter and the load balancer. Where both are on one device,
 * it has one program with both, in the mode of the prefilter. For the launching thread.
 */
final class XdpDevices {
  private static final Logger LOGGER = LogManager.getLogger(XdpDevices.class);

  private final DatapathContext context;
  private final DeviceAttachments devices;
  private final HookGuard hooks;
  private final ProgramLoader loader;
  private final NodeConstants constants;
  private final LoaderAgent loaderAgent;

  XdpDevices(
      DatapathContext context,
      DeviceAttachments devices,
      HookGuard hooks,
      ProgramLoader loader,
      NodeConstants constants,
      LoaderAgent loaderAgent) {
    this.context = context;
    this.devices = devices;
    this.hooks = hooks;
    this.loader = loader;
    this.constants = constants;
    this.loaderAgent = loaderAgent;
  }

  /**
   * Attaches what the options ask for; the maps of the prefilter have its list.
   *
   * @return the mode of the load balancer, or null without one
   * @throws agent.types.Refusal INVALID where an interface does not exist
   * @throws AttachException where the kernel refuses
   */
  PrefilterMode attach() {
    final String filtered = context.prefilterDevice();
    final String balanced = context.balancing().device();
    final int filteredIndex = filtered == null ? 0 : ifindex("prefilter-device", filtered);
    final int balancedIndex = balanced == null ? 0 : ifindex("lb", balanced);
    if (balanced != null) {
      constants.balancerMac(Math.max(0, NetworkDevice.hardwareAddress(balancedIndex)));
    }
    if (filtered != null) {
      final boolean isBoth = filteredIndex == balancedIndex;
      final PrefilterMode mode = context.prefilterMode();
      final ProgramFile program = isBoth ? ProgramFile.PREFILTER_BALANCER : ProgramFile.PREFILTER;
      final boolean isJudging =
          attach(filtered, filteredIndex, DeviceAttachments.PREFILTER, program, mode);
      if (isBoth) {
        return isJudging ? mode : null;
      }
    }
    try {
      return balanced == null ? null : attachBalancer(balanced, balancedIndex);
    } catch (LoadException isInHealth) {
      return null; // the programs of the stack balance, as without the option
    }
  }

  private static int ifindex(String option, String device) {
    return DeviceAttachments.ifindex(option, device);
  }

  /** Attaches the balancer in native mode where the driver can, as a previous run could. */
  private PrefilterMode attachBalancer(String device, int ifindex) {
    final String pin = DeviceAttachments.BALANCER;
    if (!devices.isGeneric(device, ifindex, pin)) {
      try {
        attach(device, ifindex, pin, ProgramFile.BALANCER, PrefilterMode.NATIVE);
        return PrefilterMode.NATIVE;
      } catch (AttachException failure) {
        if (!failure.isUnsupported()) {
          throw failure;
        }
        LOGGER.warn("device {}: the driver has no native XDP; generic mode is used", device);
      }
    }
    attach(device, ifindex, pin, ProgramFile.BALANCER, PrefilterMode.GENERIC);
    return PrefilterMode.GENERIC;
  }

  /** Returns false where the kernel refuses the program and a closed one is attached. */
  private boolean attach(
      String device, int ifindex, String pin, ProgramFile file, PrefilterMode mode) {
    try (BpfObject object = loader.load(file, constants::write)) {
      final Attachment attachment =
          devices.attachXdp(device, ifindex, pin, mode, ClosedPrograms.in(object, file.stem()));
      hooks.watch(
          0,
          "device " + device + " " + file.stem(),
          attachment,
          () -> loaderAgent.load(file),
          file.stem());
      return !ClosedPrograms.isClosed(object);
    }
  }
}
