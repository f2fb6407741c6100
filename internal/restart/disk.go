package restart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Disk says what a volume gives, reads and writes each: a cloud volume on a disk that can do more. Zero: unlimited.
type Disk struct {
	IOPS           int64 // operations per second
	BytesPerSecond int64
}

// String is empty for an unlimited disk.
func (d Disk) String() string {
	if d == (Disk{}) {
		return ""
	}
	return fmt.Sprintf("disk held to %d IOPS and %d MB/s", d.IOPS, d.BytesPerSecond/1e6)
}

// Cage is a control group whose processes have such a disk. Only direct I/O is held back for certain: what the kernel
// writes back later belongs to nobody.
type Cage struct{ dir string }

// ErrNoCage: this machine or user cannot hold a disk back.
var ErrNoCage = errors.New("the disk cannot be held back here (it takes root and a control group with blkio or io)")

// NewCage makes a control group, of version 1 or 2, that holds back the device under path.
func NewCage(path string, d Disk) (*Cage, error) {
	device, err := blockDevice(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCage, err)
	}
	name := fmt.Sprintf("hearth-bench-%d", os.Getpid())
	var errs []error
	for _, try := range []func(name, device string, d Disk) (*Cage, error){cage1, cage2} {
		c, err := try(name, device, d)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoCage, errors.Join(errs...))
}

// cage1 uses the blkio controller of cgroups version 1 (kernel documentation, cgroup-v1/blkio-controller).
func cage1(name, device string, d Disk) (*Cage, error) {
	c := &Cage{filepath.Join("/sys/fs/cgroup/blkio", name)}
	limits := map[string]int64{
		"blkio.throttle.read_iops_device": d.IOPS, "blkio.throttle.write_iops_device": d.IOPS,
		"blkio.throttle.read_bps_device": d.BytesPerSecond, "blkio.throttle.write_bps_device": d.BytesPerSecond,
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for file, limit := range limits {
		if err := c.set(file, fmt.Sprintf("%s %d", device, limit)); err != nil { // 0 means unlimited
			return nil, errors.Join(err, c.Remove())
		}
	}
	return c, nil
}

// cage2 uses the io controller of cgroups version 2 (kernel documentation, cgroup-v2).
func cage2(name, device string, d Disk) (*Cage, error) {
	c := &Cage{filepath.Join("/sys/fs/cgroup", name)}
	if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+io"), 0o644); err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	limit := func(n int64) string {
		if n == 0 {
			return "max"
		}
		return strconv.FormatInt(n, 10)
	}
	iops, bps := limit(d.IOPS), limit(d.BytesPerSecond)
	if err := c.set("io.max", fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, bps, bps, iops, iops)); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

func (c *Cage) set(file, value string) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(value), 0o644)
}

// Enter puts a process into the cage, with all its threads and the children it will have.
func (c *Cage) Enter(pid int) error { return c.set("cgroup.procs", strconv.Itoa(pid)) }

// Leave takes a process out again; one that is gone has left already.
func (c *Cage) Leave(pid int) error {
	err := os.WriteFile(filepath.Join(filepath.Dir(c.dir), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Remove takes the cage away. Nobody may be in it any more.
func (c *Cage) Remove() error { return os.Remove(c.dir) }

// blockDevice is "major:minor" of the whole disk that path lies on; controllers know no partitions.
func blockDevice(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	device := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	sys, err := filepath.EvalSymlinks("/sys/dev/block/" + device)
	if err != nil {
		return "", fmt.Errorf("%s is on no block device: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(sys, "partition")); err != nil {
		return device, nil
	}
	whole, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
	return strings.TrimSpace(string(whole)), err
}
