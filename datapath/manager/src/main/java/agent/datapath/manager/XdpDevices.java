package agent.datapath.manager;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LoadException;
import agent.bindings.net.NetworkDevice;
import agent.conductor.ConductorAgent;
import agent.conductor.StepSequence;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.attach.AttachException;
import agent.datapath.programs.attach.Attachment;
import agent.datapath.programs.attach.ClosedPrograms;
import agent.datapath.programs.attach.DeviceAttachments;
import agent.datapath.programs.attach.HookGuard;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.load.LoaderAgent;
import agent.datapath.programs.load.NodeConstants;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.Prefilter.PrefilterMode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The XDP programs of devices: the prefilter and the load balancer. Where both are on one device,
 * it has one program with both, in the mode of the prefilter. Devices are followed by their names:
 * one that is deleted and made again gets its program again, and so does one whose hook had the
 * program of another. For the launching thread, then the conductor's.
 */
final class XdpDevices implements Check {
  private static final Logger LOGGER = LogManager.getLogger(XdpDevices.class);

  /** Each try loads the program again. */
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(4);

  private final DatapathContext context;
  private final ConductorAgent conductor;
  private final KernelFaults faults;
  private final DeviceAttachments devices;
  private final HookGuard hooks;
  private final NodeConstants constants;
  private final LoaderAgent loaderAgent;
  private final List<Program> programs = new ArrayList<>();

  private static final class Program {
    final String device;
    final String pin;
    final ProgramFile file;
    final PrefilterMode mode;
    long mac;
    int ifindex;
    long triedNs;
    boolean isLoading;
    boolean isJudging;
    String failure;

    Program(String device, String pin, ProgramFile file, PrefilterMode mode) {
      this.device = device;
      this.pin = pin;
      this.file = file;
      this.mode = mode;
    }

    String subject() {
      return "device " + device + " " + file.stem();
    }

    boolean isBalancer() {
      return file != ProgramFile.PREFILTER;
    }
  }

  XdpDevices(
      DatapathContext context,
      ConductorAgent conductor,
      KernelFaults faults,
      DeviceAttachments devices,
      HookGuard hooks,
      NodeConstants constants,
      LoaderAgent loaderAgent) {
    this.context = context;
    this.conductor = conductor;
    this.faults = faults;
    this.devices = devices;
    this.hooks = hooks;
    this.constants = constants;
    this.loaderAgent = loaderAgent;
  }

  /**
   * Attaches what the options ask for; the maps of the prefilter have its list. Where a hook has
   * the program of another, that is a fault, and it is tried again.
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
    if (filtered != null) {
      final boolean isBoth = filteredIndex == balancedIndex;
      final PrefilterMode mode = context.prefilterMode();
      final ProgramFile file = isBoth ? ProgramFile.PREFILTER_BALANCER : ProgramFile.PREFILTER;
      final Program program = new Program(filtered, DeviceAttachments.PREFILTER, file, mode);
      attach(program, filteredIndex);
      if (isBoth) {
        return program.isJudging ? mode : null;
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
        attach(new Program(device, pin, ProgramFile.BALANCER, PrefilterMode.NATIVE), ifindex);
        return PrefilterMode.NATIVE;
      } catch (AttachException failure) {
        if (!failure.isUnsupported()) {
          throw failure;
        }
        LOGGER.warn("device {}: the driver has no native XDP; generic mode is used", device);
      }
    }
    attach(new Program(device, pin, ProgramFile.BALANCER, PrefilterMode.GENERIC), ifindex);
    return PrefilterMode.GENERIC;
  }

  private void attach(Program program, int ifindex) {
    addressOf(program, ifindex);
    try (BpfObject object = loaderAgent.loadHere(program.file)) {
      attach(program, ifindex, object);
    } catch (AttachException failure) {
      if (!failure.isTaken()) {
        throw failure;
      }
      failed(program, failure.getMessage());
    }
    programs.add(program);
  }

  private void addressOf(Program program, int ifindex) {
    if (program.isBalancer()) {
      program.mac = Math.max(0, NetworkDevice.hardwareAddress(ifindex));
      constants.balancerMac(program.mac);
    }
  }

  private void attach(Program program, int ifindex, BpfObject object) {
    final Attachment attachment =
        devices.attachXdp(
            program.device,
            ifindex,
            program.pin,
            program.mode,
            ClosedPrograms.in(object, program.file.stem()));
    program.isJudging = !ClosedPrograms.isClosed(object);
    program.ifindex = ifindex;
    program.failure = null;
    faults.clear(program.subject());
    hooks.watch(
        0,
        program.subject(),
        attachment,
        () -> loaderAgent.load(program.file),
        program.file.stem());
  }

  private void failed(Program program, String reason) {
    if (!reason.equals(program.failure)) {
      LOGGER.error("{}: {}; retrying", program.subject(), reason);
    }
    program.failure = reason;
    faults.failed(0, Part.PROGRAMS, program.subject(), reason);
  }

  @Override
  public Progress step(long nowNs) {
    for (final Program program : programs) {
      if (program.failure == null || nowNs - program.triedNs >= RETRY_NS) {
        program.triedNs = nowNs;
        follow(program);
      }
    }
    return Progress.DONE;
  }

  /** The program of the load balancer takes frames to the address that it was loaded with. */
  private static boolean isRight(Program program, int ifindex) {
    return ifindex == program.ifindex
        && (!program.isBalancer() || NetworkDevice.hardwareAddress(ifindex) == program.mac);
  }

  /** Attaches a program to what has the name of its device now, with the address of that. */
  private void follow(Program program) {
    final int ifindex = NetworkDevice.index(program.device);
    if (ifindex <= 0 || program.isLoading || isRight(program, ifindex)) {
      return;
    }
    addressOf(program, ifindex);
    program.isLoading = true;
    final CompletableFuture<BpfObject> loading = loaderAgent.load(program.file);
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> loading)
            .then(() -> onLoaded(program, ifindex, loading.join()))
            .onFailure(
                failure -> {
                  program.isLoading = false;
                  loading.thenAccept(BpfObject::close);
                  failed(program, failure.getMessage());
                }));
  }

  private void onLoaded(Program program, int ifindex, BpfObject loaded) {
    try (BpfObject object = loaded) {
      attach(program, ifindex, object);
      LOGGER.info("{}: attached to interface {}", program.subject(), ifindex);
    }
    program.isLoading = false;
  }

  @Override
  public String toString() {
    return "XDP devices";
  }
}
