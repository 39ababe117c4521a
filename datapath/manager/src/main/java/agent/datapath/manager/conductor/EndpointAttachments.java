package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.datapath.manager.attach.ClsactAttachment;
import agent.datapath.manager.attach.Hook;
import agent.datapath.manager.attach.Pins;
import agent.datapath.manager.attach.TcAttachment;
import agent.datapath.manager.attach.TcxAttachment;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.TcMode;
import java.util.List;

/** Hangs an endpoint's two programs on the host side of its veth, in one of the two ways. */
public final class EndpointAttachments {
  private final Pins pins;
  private final TcAttachment wanted;
  private final TcAttachment other;

  /** By links or by filters; what an earlier start hung the other way is taken down. */
  public EndpointAttachments(Pins pins, TcMode mode) {
    final TcAttachment tcx = new TcxAttachment();
    final TcAttachment clsact = new ClsactAttachment();
    this.pins = pins;
    wanted = mode == TcMode.TCX ? tcx : clsact;
    other = mode == TcMode.TCX ? clsact : tcx;
  }

  /** Attaches both programs, or neither where one of them fails: what was there runs on. */
  void attach(EndpointSpec endpoint, BpfObject object) {
    final List<Hook> hooks = hooks(endpoint.id(), endpoint.ifindex(), endpoint.interfaceName());
    final Hook ingress = hooks.getFirst();
    final Hook egress = hooks.getLast();
    final TcAttachment.Previous before = wanted.attach(egress, object.programFd(egress.program()));
    try {
      wanted.attach(ingress, object.programFd(ingress.program())).release();
    } catch (RuntimeException failure) {
      before.putBack();
      throw failure;
    }
    before.release();
    other.detach(egress);
    other.detach(ingress);
  }

  /** Whether the first program on a hook has to wait for the kernel, and later ones have not. */
  boolean waitForFirstLink() {
    return wanted instanceof TcxAttachment;
  }

  /**
   * Lets nothing pass until the endpoint's programs are attached, where nothing of ours hangs yet.
   *
   * @return whether both hooks are closed; otherwise they are as they were
   */
  boolean shut(EndpointSpec endpoint, BpfObject closed) {
    final List<Hook> hooks = hooks(endpoint.id(), endpoint.ifindex(), endpoint.interfaceName());
    for (final Hook hook : hooks) {
      if (wanted.isAttached(hook) || other.isAttached(hook)) {
        return false;
      }
    }
    try {
      for (final Hook hook : hooks) {
        wanted.attach(hook, closed.programFd("closed_" + hook.program())).release();
      }
    } catch (RuntimeException failure) {
      open(endpoint);
      throw failure;
    }
    return true;
  }

  /** Undoes {@link #shut}. */
  void open(EndpointSpec endpoint) {
    hooks(endpoint.id(), endpoint.ifindex(), endpoint.interfaceName()).forEach(wanted::detach);
  }

  /**
   * Takes both programs away, whichever way they hang.
   *
   * @param ifindex of the interface, or 0 where it is not known any more
   * @param errors gets a line for what went wrong
   */
  void detach(int endpointId, int ifindex, String interfaceName, List<String> errors) {
    for (final Hook hook : hooks(endpointId, ifindex, interfaceName)) {
      detach(wanted, hook, errors);
      detach(other, hook, errors);
    }
  }

  private static void detach(TcAttachment attachment, Hook hook, List<String> errors) {
    if (hook.ifindex() == 0 && attachment instanceof ClsactAttachment) {
      return;
    }
    try {
      attachment.detach(hook);
    } catch (RuntimeException failure) {
      errors.add(failure.getMessage());
    }
  }

  private List<Hook> hooks(int endpointId, int ifindex, String interfaceName) {
    return List.of(
        new Hook(
            interfaceName,
            ifindex,
            true,
            Pins.FROM_ENDPOINT,
            pins.endpoint(endpointId, Pins.FROM_ENDPOINT)),
        new Hook(
            interfaceName,
            ifindex,
            false,
            Pins.TO_ENDPOINT,
            pins.endpoint(endpointId, Pins.TO_ENDPOINT)));
  }
}
