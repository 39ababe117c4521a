package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

class RefusalTest {
  @Test
  void shouldReadAsFieldAndReason() {
    assertEquals("pool: is empty", Refusal.invalid("pool", "is empty").getMessage());
    assertEquals("is empty", Refusal.invalid("", "is empty").getMessage());
  }

  @Test
  void shouldPrefixThePathOfAnOuterField() {
    final Throwable cause = new IllegalStateException();
    final Refusal inner = Refusal.of(Refusal.Kind.CONFLICT, "x", "is taken", cause);
    final Refusal outer = inner.at("labels[2]");
    assertEquals("labels[2]: is taken", outer.getMessage());
    assertEquals(Refusal.Kind.CONFLICT, outer.kind());
    assertSame(cause, outer.getCause());
  }

  @Test
  void shouldHaveTheKindOfItsFactory() {
    assertEquals(Refusal.Kind.INVALID, Refusal.invalid("f", "r").kind());
    assertEquals(Refusal.Kind.NOT_FOUND, Refusal.notFound("f", "r").kind());
    assertEquals(Refusal.Kind.CONFLICT, Refusal.conflict("f", "r").kind());
    assertEquals(Refusal.Kind.EXHAUSTED, Refusal.exhausted("f", "r").kind());
    assertEquals(Refusal.Kind.DISABLED, Refusal.disabled("f", "r").kind());
    assertEquals(Refusal.Kind.UNAVAILABLE, Refusal.unavailable("f", "r").kind());
    assertEquals(Refusal.Kind.STALE, Refusal.stale("f", "r").kind());
    assertEquals(Refusal.Kind.OVER_LIMIT, Refusal.overLimit("f", "r").kind());
    final Refusal refusal = Refusal.stale("field", "the reason");
    assertEquals("field", refusal.field());
    assertEquals("the reason", refusal.reason());
  }
}
