package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ErrnoTest {
  @Test
  void shouldNameANumberOfEitherSign() {
    assertEquals("ENOSPC", Errno.name(28));
    assertEquals("ENOSPC", Errno.name(-Errno.ENOSPC));
    assertEquals("error 4711", Errno.name(-4711));
  }

  @Test
  void shouldContainTheNumberAndItsNameInTheException() {
    final BindingsException failure = new BindingsException("map flows: update", -Errno.E2BIG);

    assertEquals("map flows: update: E2BIG", failure.getMessage());
    assertEquals(Errno.E2BIG, failure.errno());
  }
}
