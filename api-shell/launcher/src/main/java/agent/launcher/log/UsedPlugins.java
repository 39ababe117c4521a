package agent.launcher.log;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.plugins.processor.PluginCache;
import org.apache.logging.log4j.core.config.plugins.processor.PluginEntry;

/**
 * The class loader of a parent, with another list of the plugins of Log4j, which loads them all
 * when it starts: 500 classes that no configuration of the agent asks for, each 7 kB of memory. The
 * list has one that is loaded anyway, since Log4j would look for classes where it is empty.
 */
final class UsedPlugins extends ClassLoader {
  private static final String LIST =
      "META-INF/org/apache/logging/log4j/core/config/plugins/Log4j2Plugins.dat";
  private static final String CATEGORY = "core";
  private static final String NAME = "console";

  UsedPlugins(ClassLoader parent) {
    super(parent);
  }

  @Override
  public Enumeration<URL> getResources(String name) throws IOException {
    return name.equals(LIST)
        ? Collections.enumeration(List.of(urlOf(list())))
        : super.getResources(name);
  }

  private static byte[] list() throws IOException {
    final PluginEntry entry = new PluginEntry();
    entry.setCategory(CATEGORY);
    entry.setKey(NAME);
    entry.setName(NAME);
    entry.setClassName(ConsoleAppender.class.getName());
    final PluginCache plugins = new PluginCache();
    plugins.getCategory(CATEGORY).put(NAME, entry);
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    plugins.writeCache(bytes);
    return bytes.toByteArray();
  }

  private static URL urlOf(byte[] bytes) throws IOException {
    final URLStreamHandler handler =
        new URLStreamHandler() {
          @Override
          protected URLConnection openConnection(URL url) {
            return new URLConnection(url) {
              @Override
              public void connect() {
                connected = true;
              }

              @Override
              public InputStream getInputStream() {
                return new ByteArrayInputStream(bytes);
              }
            };
          }
        };
    return URL.of(URI.create("memory:" + NAME), handler);
  }
}
