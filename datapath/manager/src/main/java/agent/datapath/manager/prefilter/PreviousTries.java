package agent.datapath.manager.prefilter;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.datapath.programs.load.OpenMaps;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinition;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The tries of release 0.3.0 and those before it, which held the list in the kernel and have no
 * successor of their shape. Their keys have the layout of the ipcache's. They stay until the
 * program that looks them up is replaced.
 */
final class PreviousTries {
  private static final String IPV4 = "prefilter4";
  private static final String IPV6 = "prefilter6";

  private PreviousTries() {}

  /** Reads the prefixes of both tries; none where no previous release ran. */
  static List<Prefix> read(OpenMaps maps) {
    final List<Prefix> found = new ArrayList<>();
    try (BpfMap map = open(maps, IPV4)) {
      if (map != null) {
        readIpv4(map, found);
      }
    }
    try (BpfMap map = open(maps, IPV6)) {
      if (map != null) {
        readIpv6(map, found);
      }
    }
    return found;
  }

  static void unpin(OpenMaps maps) {
    MapCatalog.PREFILTER_BEFORE.forEach(name -> BpfFileSystem.unpin(maps.pin(name)));
  }

  private static BpfMap open(OpenMaps maps, String name) {
    final Path pin = maps.pin(name);
    final int fd = BpfFileSystem.open(pin);
    if (fd == -Errno.ENOENT) {
      return null;
    }
    if (fd < 0) {
      throw new BindingsException("map " + name + ": open " + pin, fd);
    }
    return BpfMap.adopt(
        fd, MapDefinition.of(MapDescription.of(fd).spec().withName(name)), pin.toString());
  }

  static void readIpv4(BpfMap map, List<Prefix> found) {
    final Ipcache4KeyFlyweight key = new Ipcache4KeyFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      open(cursor, map);
      while (cursor.next()) {
        key.wrap(cursor.key(), 0);
        found.add(Prefix.of(IpAddress.ofIpv4(key.address()), key.prefixLength()));
      }
      check(cursor, map);
    }
  }

  static void readIpv6(BpfMap map, List<Prefix> found) {
    final Ipcache6KeyFlyweight key = new Ipcache6KeyFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      open(cursor, map);
      while (cursor.next()) {
        key.wrap(cursor.key(), 0);
        found.add(
            Prefix.of(IpAddress.ofIpv6(key.addressHigh(), key.addressLow()), key.prefixLength()));
      }
      check(cursor, map);
    }
  }

  private static void open(MapCursor cursor, BpfMap map) {
    final int result = cursor.open(map);
    if (result < 0) {
      throw map.failure("walk", "all", result);
    }
  }

  private static void check(MapCursor cursor, BpfMap map) {
    if (cursor.error() < 0) {
      throw map.failure("walk", "all", cursor.error());
    }
  }
}
