// A layer over Hadoop's file system, put in place by hadoop.py, which says what it is for. Janino compiles it: no
// generics, lambdas or annotations.
package spark_jobs;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

public class RememberingFileSystem extends FilterFileSystem {
  private static final int INSTANTS = 4;
  private final Map contents = new LinkedHashMap();
  private final Map objects = new LinkedHashMap();
  // Timeline folders whose listing may be remembered → the listing, or while one is asked for its question, or null.
  private final Map listings = new HashMap();

  public RememberingFileSystem(FileSystem below) { super(below); }

  // Of what lies below a folder: other tables of the bucket are none of the caller's business.
  public synchronized void forgetBelow(String folder) {
    removeBelow(this.objects, folder);
    for (Iterator i = this.contents.keySet().iterator(); i.hasNext(); ) {
      Path path = (Path) i.next();
      if (isProperties(path) && isBelow(path, folder)) i.remove();
    }
  }

  public synchronized void rememberListing(String timeline, boolean wanted) {
    if (wanted) this.listings.put(new Path(timeline), null); else this.listings.remove(new Path(timeline));
  }

  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    if (!isProperties(path) && !isCompletedInstant(path)) return this.fs.open(path, bufferSize);
    return new FSDataInputStream(new Content(read(path)));
  }

  public FileStatus getFileStatus(Path path) throws IOException {
    if (isLanded(path)) return status(path);
    if (!isTable(path)) return this.fs.getFileStatus(path);
    return new FileStatus(0L, true, 1, 0L, 0L, makeQualified(path));
  }

  public boolean exists(Path path) throws IOException {
    if (isTable(path)) return true;
    if (isBootstrapIndex(path)) return false;
    if (!isProperties(path) && !isLanded(path)) return this.fs.exists(path);
    try {
      if (isLanded(path)) status(path); else read(path);
      return true;
    } catch (FileNotFoundException e) {
      return false;
    }
  }

  public FileStatus[] listStatus(Path path) throws IOException {
    return isRemembered(path) ? timeline(path) : otherStatuses(path);
  }

  private FileStatus[] timeline(Path path) throws IOException {
    Object question = new Object();
    synchronized (this) {
      Object known = this.listings.get(path);
      if (known instanceof FileStatus[]) return (FileStatus[]) ((FileStatus[]) known).clone();
      if (isRemembered(path)) this.listings.put(path, question);
    }
    FileStatus[] found = this.fs.listStatus(path);
    // A change, or the end of the commit, has withdrawn the question.
    synchronized (this) { if (this.listings.get(path) == question) this.listings.put(path, found); }
    return (FileStatus[]) found.clone();
  }

  private synchronized boolean isRemembered(Path path) { return this.listings.containsKey(path); }

  private FileStatus[] otherStatuses(Path path) throws IOException {
    FileStatus known = isLanded(path) ? status(path) : null;
    return known == null || known.isDirectory() ? this.fs.listStatus(path) : new FileStatus[] {known};
  }

  private FileStatus status(Path path) throws IOException {
    FileStatus known;
    synchronized (this) { known = (FileStatus) this.objects.get(path); }
    if (known != null) return known;
    known = this.fs.getFileStatus(path);
    synchronized (this) { this.objects.put(path, known); }
    return known;
  }

  private byte[] read(Path path) throws IOException {
    byte[] known = known(path);
    if (known != null) return known;
    FSDataInputStream in = this.fs.open(path);
    try {
      byte[] content = in.readAllBytes();
      remember(path, content);
      return content;
    } finally {
      in.close();
    }
  }

  private synchronized byte[] known(Path path) { return (byte[]) this.contents.get(path); }

  private synchronized void remember(Path path, byte[] content) {
    // A file that is being written is none yet.
    if (content.length == 0) return;
    this.contents.put(path, content);
    if (isProperties(path)) return;
    int instants = 0;
    for (Iterator i = this.contents.keySet().iterator(); i.hasNext(); ) {
      if (isOfTimeline((Path) i.next(), path.getParent())) instants++;
    }
    for (Iterator i = this.contents.keySet().iterator(); i.hasNext() && instants > INSTANTS; ) {
      if (isOfTimeline((Path) i.next(), path.getParent())) { i.remove(); instants--; }
    }
  }

  private synchronized void forget(Path path) {
    for (Iterator i = this.listings.entrySet().iterator(); i.hasNext(); ) {
      Map.Entry each = (Map.Entry) i.next();
      Path folder = (Path) each.getKey();
      if (folder.equals(path.getParent()) || isBelow(folder, path.toString())) each.setValue(null);
    }
    removeBelow(this.objects, path.toString());
    removeBelow(this.contents, path.toString());
  }

  private static void removeBelow(Map known, String folder) {
    for (Iterator i = known.keySet().iterator(); i.hasNext(); ) {
      if (isBelow((Path) i.next(), folder)) i.remove();
    }
  }

  private static boolean isBelow(Path path, String folder) {
    String found = path.toString();
    return found.equals(folder) || found.startsWith(folder + "/");
  }

  private static boolean isOfTimeline(Path path, Path timeline) {
    return !isProperties(path) && path.getParent().equals(timeline);
  }

  private static boolean isProperties(Path path) { return path.getName().equals("hoodie.properties"); }

  private static boolean isLanded(Path path) {
    return path.getName().endsWith(".json") && path.toString().indexOf("/.hoodie/") < 0;
  }

  private static boolean isCompletedInstant(Path path) {
    return path.getName().matches("\\d{17}\\.(commit|deltacommit|replacecommit|clean)");
  }

  private boolean isTable(Path path) {
    return path.getName().equals(".hoodie") && known(new Path(path, "hoodie.properties")) != null;
  }

  private boolean isBootstrapIndex(Path path) {
    String text = path.toString();
    int aux = text.indexOf("/.aux/.bootstrap/");
    byte[] properties = aux < 0 ? null : known(new Path(text.substring(0, aux), "hoodie.properties"));
    return properties != null && new String(properties).indexOf("hoodie.bootstrap.base.path") < 0;
  }

  public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
      short replication, long blockSize, Progressable progress) throws IOException {
    forget(path);
    FSDataOutputStream out =
        this.fs.create(path, permission, overwrite, bufferSize, replication, blockSize, progress);
    return isRemembered(path.getParent()) ? new FSDataOutputStream(new Written(path, out), null) : out;
  }

  public FSDataOutputStreamBuilder createFile(Path path) {
    forget(path);
    // Its file appears at a time that isn't known here.
    rememberListing(path.getParent().toString(), false);
    return this.fs.createFile(path);
  }

  public boolean rename(Path from, Path to) throws IOException {
    try {
      return this.fs.rename(from, to);
    } finally {
      forget(from);
      forget(to);
    }
  }

  public boolean delete(Path path, boolean recursive) throws IOException {
    try {
      return this.fs.delete(path, recursive);
    } finally {
      forget(path);
    }
  }

  // What FilterFileSystem would do in its own, dearer way.
  public String getScheme() { return this.fs.getScheme(); }
  public boolean isDirectory(Path path) throws IOException {
    return isLanded(path) ? exists(path) && status(path).isDirectory() : isTable(path) || this.fs.isDirectory(path);
  }
  public boolean isFile(Path path) throws IOException { return this.fs.isFile(path); }
  public RemoteIterator listFiles(Path path, boolean recursive) throws IOException {
    return this.fs.listFiles(path, recursive);
  }

  // An object appears when its stream is closed.
  private class Written extends FilterOutputStream {
    private final Path path;
    Written(Path path, OutputStream out) { super(out); this.path = path; }
    public void write(byte[] bytes, int from, int length) throws IOException { this.out.write(bytes, from, length); }
    public void close() throws IOException {
      try { super.close(); } finally { RememberingFileSystem.this.forget(this.path); }
    }
  }

  private static class Content extends ByteArrayInputStream implements Seekable, PositionedReadable {
    Content(byte[] content) { super(content); }
    public void seek(long position) throws IOException {
      if (position < 0 || position > this.count) throw new EOFException("no such position: " + position);
      this.pos = (int) position;
    }
    public long getPos() { return this.pos; }
    public boolean seekToNewSource(long position) { return false; }
    public int read(long position, byte[] target, int offset, int length) {
      if (position >= this.count) return -1;
      int found = Math.min(length, this.count - (int) position);
      System.arraycopy(this.buf, (int) position, target, offset, found);
      return found;
    }
    public void readFully(long position, byte[] target, int offset, int length) throws IOException {
      if (read(position, target, offset, length) < length) throw new EOFException();
    }
    public void readFully(long position, byte[] target) throws IOException {
      readFully(position, target, 0, target.length);
    }
  }
}
