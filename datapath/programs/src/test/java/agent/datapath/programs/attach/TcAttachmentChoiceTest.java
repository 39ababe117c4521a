package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.KernelFeatures;
import agent.datapath.spec.TcMode;
import agent.types.Refusal;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class TcAttachmentChoiceTest {
  private static KernelFeatures kernel(boolean hasTcx) {
    return new KernelFeatures("6.1.0", hasTcx, true, true, true, true);
  }

  @Test
  void shouldChooseTcxByDefaultWhereTheKernelSupportsIt() {
    assertEquals(TcMode.TCX, TcAttachmentChoice.of(TcMode.AUTO, kernel(true)).mode());
    assertEquals(TcMode.CLSACT, TcAttachmentChoice.of(TcMode.AUTO, kernel(false)).mode());
  }

  @Test
  void shouldChooseTheRequestedMode() {
    assertEquals(TcMode.CLSACT, TcAttachmentChoice.of(TcMode.CLSACT, kernel(true)).mode());
    assertEquals(TcMode.TCX, TcAttachmentChoice.of(TcMode.TCX, kernel(true)).mode());
  }

  @Test
  void shouldRefuseTcxOnAKernelWithoutIt() {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> TcAttachmentChoice.of(TcMode.TCX, kernel(false)));
    assertEquals(
        "kernel 6.1.0 has no tcx (Linux 6.6), or the agent lacks CAP_BPF or CAP_NET_ADMIN",
        refusal.getMessage());
  }

  @Test
  void shouldAttachInTheChosenModeAndKnowTheOtherOne() {
    final TcHook hook = new TcHook("lxc7", 0, true, "from_endpoint", Path.of("/pin"));
    final TcAttachmentChoice tcx = TcAttachmentChoice.of(TcMode.TCX, kernel(true));
    assertInstanceOf(TcxAttachment.class, tcx.chosen(hook));
    assertInstanceOf(ClsactAttachment.class, tcx.other(hook));
    final TcAttachmentChoice clsact = TcAttachmentChoice.of(TcMode.CLSACT, kernel(true));
    assertInstanceOf(ClsactAttachment.class, clsact.chosen(hook));
    assertInstanceOf(TcxAttachment.class, clsact.other(hook));
  }
}
