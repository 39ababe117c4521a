package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What two readers of one map ask of the thread that copies it. */
class MirroredMapTest {
  private static final int MAPS = 20_000;

  private final List<MirroredMap> maps =
      Stream.generate(() -> new MirroredMap(null, null, 0)).limit(MAPS).toList();

  private int claims(Predicate<MirroredMap> claim) throws Exception {
    final AtomicInteger claims = new AtomicInteger();
    final Consumer<MirroredMap> reader =
        map -> {
          if (claim.test(map)) {
            claims.incrementAndGet();
          }
        };
    OtherThread.collide(maps, reader, reader);
    return claims.get();
  }

  @Test
  void shouldRequestOneCopyForTwoReaders() throws Exception {
    assertEquals(MAPS, claims(map -> map.wantsCopy(0)));
    maps.forEach(map -> map.endCopy(-1));
    assertTrue(maps.stream().allMatch(map -> map.wantsCopy(0)), "they are stale again");
  }

  @Test
  void shouldRequestThatACopyIsClearedOnceForTwoReaders() throws Exception {
    maps.forEach(MirroredMap::remove);
    assertEquals(MAPS, claims(MirroredMap::wantsClearing));
  }
}
