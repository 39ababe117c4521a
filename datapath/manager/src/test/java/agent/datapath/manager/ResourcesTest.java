package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
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

  @Test
  void shouldHaveOneThreadWaitForTheOtherThatCloses() throws Exception {
    final List<OtherThread<Void>> others = new ArrayList<>();
    resources.add(() -> closed.add("first"));
    resources.add(
        () -> {
          others.add(OtherThread.run(resources::close));
          others.add(OtherThread.run(() -> resources.add(() -> closed.add("late"))));
          for (final OtherThread<Void> other : others) {
            assertTrue(other.waits(), "it waits for the end of the close");
          }
        });
    resources.close();
    for (final OtherThread<Void> other : others) {
      other.result();
    }
    assertEquals("first", closed.getFirst());
    resources.close();
    assertEquals(List.of("first", "late"), closed);
  }
}
