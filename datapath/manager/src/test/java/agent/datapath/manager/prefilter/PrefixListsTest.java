package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class PrefixListsTest {
  @Test
  void shouldAgreeWithTreeSetsOnRandomLists() {
    final Random random = new Random(5);
    for (int round = 0; round < 200; round++) {
      final List<Prefix> left = random(random);
      final List<Prefix> right = random(random);
      final List<Prefix> sortedLeft = PrefixLists.sorted(left);
      final List<Prefix> sortedRight = PrefixLists.sorted(right);
      assertEquals(List.copyOf(new TreeSet<>(left)), sortedLeft);
      final Set<Prefix> both = new TreeSet<>(left);
      both.retainAll(right);
      assertEquals(List.copyOf(both), PrefixLists.intersection(sortedLeft, sortedRight));
      final Set<Prefix> only = new TreeSet<>(left);
      right.forEach(only::remove);
      final List<Prefix> difference = PrefixLists.difference(sortedLeft, sortedRight);
      assertEquals(List.copyOf(only), difference);
      final Set<Prefix> all = new TreeSet<>(left);
      all.addAll(right);
      assertEquals(List.copyOf(all), PrefixLists.union(sortedRight, difference));
    }
  }

  private static List<Prefix> random(Random random) {
    final List<Prefix> prefixes = new ArrayList<>();
    for (int i = random.nextInt(20); i > 0; i--) {
      prefixes.add(
          random.nextBoolean()
              ? Prefix.of(IpAddress.ofIpv4(random.nextInt(4) << 30), random.nextInt(33))
              : Prefix.of(IpAddress.ofIpv6((long) random.nextInt(4) << 62, 0), random.nextInt(4)));
    }
    return prefixes;
  }
}
