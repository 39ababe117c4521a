package agent.datapath.manager.attach;

import agent.bindings.BpfObject;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.TcMode;
import java.util.List;

/**
 * Attaches the two programs of an endpoint to the tc hooks of its host-side veth interface, in the
 * chosen mode. Stateless: calls for different endpoints may come from different threads.
 */
public final class EndpointAttachments {
  private final Pins pins;
  private final TcAttachmentChoice choice;

  /**
   * Creates the attachments without attaching a program.
   *
   * @param choice tcx or clsact; programs that a previous run attached in the other mode are
   *     detached
   */
  public EndpointAttachments(Pins pins, TcAttachmentChoice choice) {
    this.pins = pins;
    this.choice = choice;
  }

  /**
   * Attaches both programs. Where one of them fails, the previously attached programs stay
   * attached.
   *
   * @param object contains the programs from_endpoint and to_endpoint; the caller closes it
   * @throws AttachException where a program cannot be attached
   */
  public void attach(EndpointSpec endpoint, BpfObject object) {
    final List<TcHook> hooks = hooks(endpoint);
    final TcHook ingress = hooks.getFirst();
    final TcHook egress = hooks.getLast();
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
   * Returns whether programs that drop all packets can be attached until the programs of the
   * endpoint are loaded: only where the agent has not attached a program yet, and only for tcx,
   * where the creation of a link waits for a grace period and its update does not. A clsact filter
   * is recognized by the name of its program, and the dropping programs have other names.
   */
  public boolean canClose(EndpointSpec endpoint) {
    for (final TcHook hook : hooks(endpoint)) {
      if (choice.chosen(hook).isAttached() || choice.other(hook).isAttached()) {
        return false;
      }
    }
    return choice.mode() == TcMode.TCX;
  }

  /**
   * Attaches a program that drops all packets to one hook, until the endpoint's program replaces
   * it. Waits for one RCU grace period.
   *
   * @param closed contains the programs closed_from_endpoint and closed_to_endpoint
   * @throws AttachException where the program cannot be attached
   */
  public void close(EndpointSpec endpoint, boolean isIngress, BpfObject closed) {
    final TcHook hook = hook(endpoint, isIngress);
    choice.chosen(hook).attach(closed.program("closed_" + hook.program())).close();
  }

  /**
   * Detaches the programs that {@link #close} attached.
   *
   * @throws AttachException where a program cannot be detached
   */
  public void open(EndpointSpec endpoint) {
    for (final TcHook hook : hooks(endpoint)) {
      choice.chosen(hook).detach();
    }
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
