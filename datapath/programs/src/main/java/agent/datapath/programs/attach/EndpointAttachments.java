package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfObject;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.EndpointSpec;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Attaches the two programs of an endpoint to the tc hooks of its host-side veth interface, in the
 * chosen mode. For the conductor's thread.
 */
public final class EndpointAttachments {
  private final Pins pins;
  private final TcAttachmentChoice choice;
  private final HookGuard guard;
  private final KernelFaults faults;
  private final Supplier<String> refusal;

  /**
   * Creates the attachments without attaching a program.
   *
   * @param choice tcx or clsact; programs that a previous run attached in the other mode are
   *     detached
   * @param guard compares the attached programs with the kernel
   * @param faults learns which endpoints have closed programs
   * @param refusal says why the kernel refuses the programs, where it does
   */
  public EndpointAttachments(
      Pins pins,
      TcAttachmentChoice choice,
      HookGuard guard,
      KernelFaults faults,
      Supplier<String> refusal) {
    this.pins = pins;
    this.choice = choice;
    this.guard = guard;
    this.faults = faults;
    this.refusal = refusal;
  }

  /**
   * Attaches both programs. Where one of them fails, the previously attached programs stay
   * attached.
   *
   * @param object contains the programs from_endpoint and to_endpoint, or closed ones, which
   *     replace no programs of a previous run; the caller closes it
   * @throws AttachException where a program cannot be attached
   */
  public void attach(EndpointSpec endpoint, BpfObject object) {
    final List<TcHook> hooks = hooks(endpoint);
    final TcHook ingress = hooks.getFirst();
    final TcHook egress = hooks.getLast();
    if (ClosedPrograms.isClosed(object)) {
      tellRefusal(endpoint.id(), closeOrKeep(ingress, object) & closeOrKeep(egress, object));
      return;
    }
    try (PreviousProgram before = choice.chosen(egress).attach(object.program(egress.program()))) {
      try {
        choice.chosen(ingress).attach(object.program(ingress.program())).close();
      } catch (RuntimeException failure) {
        restore(before, failure);
        throw failure;
      }
    }
    choice.other(egress).detach();
    choice.other(ingress).detach();
    faults.clear(refusal(endpoint.id()));
  }

  private void tellRefusal(int endpointId, boolean isJudged) {
    final String subject = refusal(endpointId);
    if (isJudged) {
      faults.degraded(
          endpointId,
          Part.PROGRAMS,
          subject,
          "the kernel refused the new programs, those of the previous run stay attached: "
              + refusal.get());
    } else {
      faults.failed(
          endpointId,
          Part.PROGRAMS,
          subject,
          "the kernel refused the programs, all packets are dropped: " + refusal.get());
    }
  }

  private static String refusal(int endpointId) {
    return "endpoint " + endpointId;
  }

  /** Keeps a program of a previous run that judges packets, in either mode. */
  private boolean closeOrKeep(TcHook hook, BpfObject object) {
    final String other = choice.other(hook).attachedProgram();
    return !other.isEmpty() && !ClosedPrograms.isClosed(other)
        || choice.chosen(hook).attachJudging(object, hook.program());
  }

  /** Restores the previous program; a failure to do so is suppressed under the first failure. */
  private static void restore(PreviousProgram before, RuntimeException failure) {
    try {
      before.restore();
    } catch (RuntimeException second) {
      failure.addSuppressed(second);
    }
  }

  /**
   * Watches the attached programs until they are detached.
   *
   * @param loader loads the programs again
   */
  public void watch(
      int endpointId,
      int ifindex,
      String interfaceName,
      Supplier<CompletableFuture<BpfObject>> loader) {
    for (final boolean isIngress : new boolean[] {true, false}) {
      final TcHook hook = hook(endpointId, ifindex, interfaceName, isIngress);
      guard.watch(
          endpointId, subject(endpointId, hook), choice.chosen(hook), loader, hook.program());
    }
  }

  /** Ends the watch of an endpoint whose interface is gone; its index may be another's. */
  public void forget(int endpointId) {
    faults.clear(refusal(endpointId));
    for (final boolean isIngress : new boolean[] {true, false}) {
      guard.forget(subject(endpointId, hook(endpointId, 0, "", isIngress)));
    }
  }

  private static String subject(int endpointId, TcHook hook) {
    return "endpoint " + endpointId + " " + hook.program();
  }

  /** Returns whether both hooks of an endpoint have a program of the agent. */
  public boolean isAttached(int endpointId, int ifindex, String interfaceName) {
    return isAttached(hook(endpointId, ifindex, interfaceName, true))
        && isAttached(hook(endpointId, ifindex, interfaceName, false));
  }

  private boolean isAttached(TcHook hook) {
    return choice.chosen(hook).isAttached() || choice.other(hook).isAttached();
  }

  /**
   * Attaches the program of one hook, which drops all packets of an interface that is not open.
   * Does nothing where a program of the agent is attached. Waits for one RCU grace period.
   *
   * @param object contains the programs from_endpoint and to_endpoint
   * @throws AttachException where the program cannot be attached
   */
  public void close(
      int endpointId, int ifindex, String interfaceName, boolean isIngress, BpfObject object) {
    final TcHook hook = hook(endpointId, ifindex, interfaceName, isIngress);
    if (!isAttached(hook)) {
      choice.chosen(hook).attach(ClosedPrograms.in(object, hook.program())).close();
    }
  }

  /**
   * Returns the index of the interface that a pinned link of the endpoint is attached to, or 0
   * where no link is.
   */
  public int linkedInterface(int endpointId) {
    for (final String program : List.of(Pins.FROM_ENDPOINT, Pins.TO_ENDPOINT)) {
      final int ifindex = PinnedLinkAttachment.linkedInterface(pins.endpoint(endpointId, program));
      if (ifindex != 0) {
        return ifindex;
      }
    }
    return 0;
  }

  /**
   * Returns whether a hook of the interface has a filter of the agent: the kernel removes filters
   * together with their interface, so that the index names the same interface as when it was added.
   *
   * @throws AttachException where the filters cannot be read
   */
  public boolean hasFilter(int endpointId, int ifindex) {
    return choice.hasFilter(hook(endpointId, ifindex, "endpoint " + endpointId, true))
        || choice.hasFilter(hook(endpointId, ifindex, "endpoint " + endpointId, false));
  }

  /**
   * Detaches one program, whether it is attached by tcx or clsact. Waits for one RCU grace period.
   *
   * @param ifindex index of the interface, or 0 where it is unknown
   * @param errors receives one message for each failure
   */
  public void detach(
      int endpointId, int ifindex, String interfaceName, boolean isIngress, List<String> errors) {
    final TcHook hook = hook(endpointId, ifindex, interfaceName, isIngress);
    guard.forget(subject(endpointId, hook));
    faults.clear(refusal(endpointId));
    detach(choice.chosen(hook), errors);
    detach(choice.other(hook), errors);
  }

  private static void detach(Attachment attachment, List<String> errors) {
    try {
      attachment.detach();
    } catch (RuntimeException failure) {
      errors.add(failure.getMessage());
    }
  }

  private List<TcHook> hooks(EndpointSpec endpoint) {
    return List.of(hook(endpoint, true), hook(endpoint, false));
  }

  private TcHook hook(EndpointSpec endpoint, boolean isIngress) {
    return hook(endpoint.id(), endpoint.ifindex(), endpoint.interfaceName(), isIngress);
  }

  private TcHook hook(int endpointId, int ifindex, String interfaceName, boolean isIngress) {
    final String program = isIngress ? Pins.FROM_ENDPOINT : Pins.TO_ENDPOINT;
    return new TcHook(
        interfaceName, ifindex, isIngress, program, pins.endpoint(endpointId, program));
  }
}
