package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.maps.kernel.BpfMapException;
import agent.types.OperationException;
import agent.types.Refusal;
import org.junit.jupiter.api.Test;

/** The kind of a failure by its error number, and that its message is kept. */
class DatapathFailuresTest {
  @Test
  void shouldReturnWhatIsTranslatedAlready() {
    final Refusal refusal = Refusal.invalid("id", "0 is no id");
    final OperationException failure = new OperationException("the kernel refused");
    assertSame(refusal, DatapathFailures.refusal(refusal));
    assertSame(failure, DatapathFailures.refusal(failure));
  }

  @Test
  void shouldTellThatSomethingIsFullByTheErrorNumber() {
    for (final int errno : new int[] {Errno.ENOSPC, Errno.E2BIG, Errno.ENOMEM}) {
      final BpfMapException map = new BpfMapException("map m: update", errno);
      final Refusal full = assertInstanceOf(Refusal.class, DatapathFailures.refusal(map));
      assertEquals(Refusal.Kind.EXHAUSTED, full.kind());
      assertEquals("map m: update", full.getMessage());
      assertSame(map, full.getCause());
      assertInstanceOf(
          Refusal.class, DatapathFailures.refusal(new BindingsException("link: create", -errno)));
    }
  }

  @Test
  void shouldKeepTheMessageOfEveryOtherFailure() {
    final BindingsException call = new BindingsException("link: create", Errno.EBUSY);
    final RuntimeException translated = DatapathFailures.refusal(call);
    assertEquals(OperationException.class, translated.getClass());
    assertEquals("link: create: EBUSY", translated.getMessage());
    assertSame(call, translated.getCause());
    assertEquals(
        "map m: lookup",
        DatapathFailures.refusal(new BpfMapException("map m: lookup", Errno.EINVAL)).getMessage());
    assertEquals(
        "what happened",
        DatapathFailures.refusal(new IllegalStateException("what happened")).getMessage());
    assertEquals(
        "NullPointerException", DatapathFailures.refusal(new NullPointerException()).getMessage());
  }
}
