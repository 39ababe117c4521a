package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResourcesTest {
  private final List<String> closed = new ArrayList<>();
  private final Resources resources = new Resources();

  @Test
  void shouldCloseAllInReverseOrderOnceThoughOneCannotBeClosed() {
    final AutoCloseable first = () -> closed.add("first");
    assertSame(first, resources.add(first));
    resources.add(
        () -> {
          closed.add("second");
          throw new IllegalStateException("it is stuck");
        });
    resources.add(() -> closed.add("third"));
    resources.close();
    resources.close();
    assertEquals(List.of("third", "second", "first"), closed);
  }
}
